// instantiate: STORAGE=double
/// Host emulation of the GPU layout: the same launches (kernels/instantiate.hpp).
#include "trellis/kernels/source/covariant_hop.cpu.cpp"
