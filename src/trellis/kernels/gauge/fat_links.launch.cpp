// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/fat_links.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_sided_staples(const SidedStaplesCall& call, const SiteRange& inner_blocks) {
  const SidedStaples<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}
template <class Layout, class Storage>
void launch_sided_staples_derivative(const SidedStaplesDerivativeCall& call, const SiteRange& inner_blocks) {
  const SidedStaplesDerivative<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}
template <class Layout, class Storage>
void launch_link_axpy(const LinkAxpyCall& call, const SiteRange& inner_blocks) {
  const LinkAxpy<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}
template <class Layout, class Storage>
void launch_long_links(const LongLinksCall& call, const SiteRange& inner_blocks) {
  const LongLinks<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}
template <class Layout, class Storage>
void launch_long_links_derivative(const LongLinksDerivativeCall& call, const SiteRange& inner_blocks) {
  const LongLinksDerivative<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_sided_staples<L, S>(const SidedStaplesCall&, const SiteRange&);
template void launch_sided_staples_derivative<L, S>(const SidedStaplesDerivativeCall&, const SiteRange&);
template void launch_link_axpy<L, S>(const LinkAxpyCall&, const SiteRange&);
template void launch_long_links<L, S>(const LongLinksCall&, const SiteRange&);
template void launch_long_links_derivative<L, S>(const LongLinksDerivativeCall&, const SiteRange&);

}  // namespace trellis
