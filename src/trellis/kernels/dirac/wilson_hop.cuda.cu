// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void run(const WilsonHopCall& call, const SiteRange& sites) {
  cuda::for_each_site(sites, call.slots, WilsonHop<Layout, Storage, LinkReals>(call));
}
}  // namespace

template <class Layout, class Storage>
void launch_wilson_hop(const WilsonHopCall& call, const SiteRange& sites) {
  if (call.link_reals == 18) return run<Layout, Storage, 18>(call, sites);
  if (call.link_reals == 12) return run<Layout, Storage, 12>(call, sites);
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 12"));
}

template void launch_wilson_hop<InstantiatedLayout, InstantiatedStorage>(const WilsonHopCall&,
                                                                         const SiteRange&);

}  // namespace trellis
