// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/link_distance.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
double launch_link_distance(const RawField& a, const RawField& b, const SiteRange& inner_blocks) {
  const LinkDistance<Layout, Storage> kernel(a, b);
  return launch::maximum_over_sites(inner_blocks, kernel);
}

template double launch_link_distance<InstantiatedLayout, InstantiatedStorage>(const RawField&,
                                                                              const RawField&,
                                                                              const SiteRange&);

}  // namespace trellis
