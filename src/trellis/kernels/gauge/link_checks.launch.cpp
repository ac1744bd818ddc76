// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/link_checks.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
double launch_link_checks(const RawField& links, LinkCheck check, const SiteRange& inner_blocks) {
  const LinkChecks<Layout, Storage> kernel(links, check);
  return launch::maximum_over_sites(inner_blocks, kernel);
}

template double launch_link_checks<InstantiatedLayout, InstantiatedStorage>(const RawField&, LinkCheck,
                                                                            const SiteRange&);

}  // namespace trellis
