// instantiate: STORAGE=double
/// The host emulation of the GPU layout: the same launches, with the layout that kernels/instantiate.hpp picks where no
/// lane count is given.
#include "trellis/kernels/source/covariant_hop.cpu.cpp"
