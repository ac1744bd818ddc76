// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/device/launch.hpp"
#include "trellis/kernels/dirac/complex_fifth_dimension.hpp"
#include "trellis/kernels/dirac/fifth_dimension_by_parts.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites) {
  if (call.coefficients.is_complex)
    return launch::for_each_site(sites, call.rhs, ComplexFifthDimension<Layout, Storage>(call));
  if constexpr (std::is_base_of_v<GpuLayout, Layout> && !std::is_same_v<Storage, Half>) {
    using Kernel = FifthDimensionByParts<Layout, Storage>;
    launch::for_each_site(sites, Kernel::slots(call.rhs), Kernel(call));
  } else {
    launch::for_each_site(sites, call.rhs, FifthDimension<Layout, Storage>(call));
  }
}

template void launch_fifth_dimension<InstantiatedLayout, InstantiatedStorage>(const FifthDimensionCall&,
                                                                              const SiteRange&);

}  // namespace trellis
