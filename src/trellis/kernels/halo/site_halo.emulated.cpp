// instantiate: STORAGE=double,float,Half,Fp16
/// Host emulation of the GPU layout: the same launches (kernels/instantiate.hpp).
#include "trellis/kernels/halo/site_halo.cpu.cpp"
