// instantiate: STORAGE=double LANES=1,4,8,16
#include "trellis/kernels/dirac/staggered_derivative.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_staggered_derivative(const StaggeredDerivativeCall& call, const SiteRange& sites) {
  const StaggeredDerivative<Layout> kernel(call);
  cpu::for_each_site(sites, [&](int block) { kernel(block); });
}

template void launch_staggered_derivative<InstantiatedLayout, InstantiatedStorage>(
    const StaggeredDerivativeCall&, const SiteRange&);

}  // namespace trellis
