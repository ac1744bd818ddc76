// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/dirac/complex_fifth_dimension.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites) {
  if (call.coefficients.is_complex)
    cuda::for_each_site(sites, call.rhs, ComplexFifthDimension<Layout, Storage>(call));
  else
    cuda::for_each_site(sites, call.rhs, FifthDimension<Layout, Storage>(call));
}

template void launch_fifth_dimension<InstantiatedLayout, InstantiatedStorage>(const FifthDimensionCall&,
                                                                              const SiteRange&);

}  // namespace trellis
