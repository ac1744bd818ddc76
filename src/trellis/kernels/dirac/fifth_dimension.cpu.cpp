// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/dirac/complex_fifth_dimension.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Kernel>
void run(const Kernel& kernel, int right_hand_sides, const SiteRange& sites) {
  cpu::for_each_site(sites, [&](int block) {
    for (int rhs = 0; rhs < right_hand_sides; ++rhs) kernel(block, rhs);
  });
}
}  // namespace

template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites) {
  if (call.coefficients.is_complex)
    run(ComplexFifthDimension<Layout, Storage>(call), call.rhs, sites);
  else
    run(FifthDimension<Layout, Storage>(call), call.rhs, sites);
}

template void launch_fifth_dimension<InstantiatedLayout, InstantiatedStorage>(const FifthDimensionCall&,
                                                                              const SiteRange&);

}  // namespace trellis
