// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/restrict.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_restrict(const RestrictCall& call, const SiteRange& groups) {
  using Kernel = Restrict<Layout, Storage>;
  launch::for_each_site(groups, Kernel::slots(call.vectors, call.rhs), Kernel(call));
}
template <class Layout, class Storage>
void launch_prolong(const ProlongCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, call.rhs, Prolong<Layout, Storage>(call));
}

template void launch_restrict<InstantiatedLayout, InstantiatedStorage>(const RestrictCall&, const SiteRange&);
template void launch_prolong<InstantiatedLayout, InstantiatedStorage>(const ProlongCall&, const SiteRange&);

}  // namespace trellis
