// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/device/launch.hpp"
#include "trellis/kernels/dirac/complex_fifth_dimension.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites) {
  if (call.coefficients.is_complex)
    launch::for_each_site(sites, call.rhs, ComplexFifthDimension<Layout, Storage>(call));
  else
    launch::for_each_site(sites, call.rhs, FifthDimension<Layout, Storage>(call));
}

template void launch_fifth_dimension<InstantiatedLayout, InstantiatedStorage>(const FifthDimensionCall&,
                                                                              const SiteRange&);

}  // namespace trellis
