// instantiate: STORAGE=double,float
/// Host emulation of the GPU layout: the same launches (kernels/instantiate.hpp).
#include "trellis/kernels/contract/meson_products.cpu.cpp"
