// instantiate: STORAGE=double,float
/// Host emulation of the GPU layout: the same launches (kernels/instantiate.hpp).
#include "trellis/kernels/contract/baryon_products.cpu.cpp"
