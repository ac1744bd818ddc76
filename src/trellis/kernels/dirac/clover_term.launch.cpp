// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/dirac/clover_term.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_clover_term(const CloverTermCall& call, const SiteRange& inner_blocks) {
  const CloverTerm<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_clover_inverse(const RawField& out, const RawField& in, const SiteRange& sites) {
  const CloverInverse<Layout, Storage> kernel(out, in);
  launch::for_each_site(sites, kernel);
}

template void launch_clover_term<InstantiatedLayout, InstantiatedStorage>(const CloverTermCall&,
                                                                          const SiteRange&);
template void launch_clover_inverse<InstantiatedLayout, InstantiatedStorage>(const RawField&, const RawField&,
                                                                             const SiteRange&);

}  // namespace trellis
