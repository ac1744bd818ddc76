// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/link_fields.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_random_links(const RandomLinksCall& call, const SiteRange& inner_blocks) {
  const RandomLinks<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_unit_links(const RawField& links, const SiteRange& blocks) {
  const UnitLinks<Layout, Storage> kernel(links);
  launch::for_each_site(blocks, kernel);
}

template <class Layout, class Storage>
void launch_reunitarise(const GaugeCall& call, const SiteRange& inner_blocks) {
  const ReunitariseLinks<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

template void launch_random_links<InstantiatedLayout, InstantiatedStorage>(const RandomLinksCall&,
                                                                           const SiteRange&);
template void launch_unit_links<InstantiatedLayout, InstantiatedStorage>(const RawField&, const SiteRange&);
template void launch_reunitarise<InstantiatedLayout, InstantiatedStorage>(const GaugeCall&, const SiteRange&);

}  // namespace trellis
