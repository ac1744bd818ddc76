// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/dirac/staggered_hop.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int NearReals, int FarReals>
void run(const StaggeredHopCall& call, const SiteRange& sites) {
  cuda::for_each_site(sites, call.slots, StaggeredHop<Layout, Storage, NearReals, FarReals>(call));
}
}  // namespace

template <class Layout, class Storage>
void launch_staggered_hop(const StaggeredHopCall& call, const SiteRange& sites) {
  if (call.energies != nullptr) throw BadArgument("energies of a staggered hop are not computed on GPUs");
  const int near = call.near.link_reals, far = call.far.link_reals;
  if (near == 12 && far == 0) return run<Layout, Storage, 12, 0>(call, sites);
  if (near == 18 && far == 0) return run<Layout, Storage, 18, 0>(call, sites);
  if (near == 18 && far == 14) return run<Layout, Storage, 18, 14>(call, sites);
  if (near == 18 && far == 18) return run<Layout, Storage, 18, 18>(call, sites);
  throw BadArgument(message("staggered hop with links of ", near, " and long links of ", far,
                            " reals: 12 or 18 without long links, 18 with long links of 14 or 18"));
}

template void launch_staggered_hop<InstantiatedLayout, InstantiatedStorage>(const StaggeredHopCall&,
                                                                            const SiteRange&);

}  // namespace trellis
