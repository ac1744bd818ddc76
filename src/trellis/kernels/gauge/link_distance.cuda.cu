// instantiate: STORAGE=double
#include "trellis/kernels/gauge/link_distance.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
double launch_link_distance(const RawField& a, const RawField& b, const SiteRange& inner_blocks) {
  const LinkDistance<Layout, Storage> kernel(a, b);
  return cuda::maximum_over_sites(inner_blocks, kernel);
}

template double launch_link_distance<InstantiatedLayout, InstantiatedStorage>(const RawField&,
                                                                              const RawField&,
                                                                              const SiteRange&);

}  // namespace trellis
