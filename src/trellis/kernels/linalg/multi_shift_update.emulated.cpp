// instantiate: STORAGE=double,float
/// Host emulation of the GPU layout: the same launches (kernels/instantiate.hpp).
#include "trellis/kernels/linalg/multi_shift_update.cpu.cpp"
