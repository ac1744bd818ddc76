// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/dirac/staggered_derivative.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_staggered_derivative(const StaggeredDerivativeCall& call, const SiteRange& sites) {
  const StaggeredDerivative<Layout> kernel(call);
  launch::for_each_site(sites, kernel);
}

template void launch_staggered_derivative<InstantiatedLayout, InstantiatedStorage>(
    const StaggeredDerivativeCall&, const SiteRange&);

}  // namespace trellis
