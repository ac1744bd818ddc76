// instantiate: STORAGE=double
#include "trellis/kernels/dirac/staggered_derivative.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_staggered_derivative(const StaggeredDerivativeCall& call, const SiteRange& sites) {
  const StaggeredDerivative<Layout> kernel(call);
  cuda::for_each_site(sites, 1, kernel);
}

template void launch_staggered_derivative<InstantiatedLayout, InstantiatedStorage>(
    const StaggeredDerivativeCall&, const SiteRange&);

}  // namespace trellis
