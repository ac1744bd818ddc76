// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/staggered_hop.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// sums += Re x^dagger out of each right-hand side, in the same pass.
template <class Storage, class Hop>
void run_with_energies(const StaggeredHopCall& call, Hop& hop, const SiteRange& sites) {
  const launch::WorkingSet all{call.working_set, call.geometry};
  if (call.slots == 1)
    return launch::reduce_sites_read_ahead<1, Storage>(
        sites, 1, hop, all,
        [&](int block) {
          hop.template compute<1>(block, 0);
          return std::array{hop.energy(block, 0)};
        },
        call.energies);
  launch::reduce_sites_read_ahead<2, Storage>(
      sites, 2, hop, all,
      [&](int block) {
        hop.template compute<2>(block, 0);
        return std::array{hop.energy(block, 0), hop.energy(block, 1)};
      },
      call.energies);
}

template <class Layout, class Storage, int NearReals, int FarReals>
void run(const StaggeredHopCall& call, const SiteRange& sites) {
  StaggeredHop<Layout, Storage, NearReals, FarReals> hop(call);
  if constexpr (!launch::is_on_gpu<Layout> &&
                std::is_same_v<Storage, typename StorageTraits<Storage>::compute>) {
    if (call.energies != nullptr && call.slots <= 2) return run_with_energies<Storage>(call, hop, sites);
  }
  if (call.energies != nullptr)
    throw BadArgument(message("energies of a staggered hop in ", call.slots,
                              " right-hand sides, or in 16-bit storage: at most 2, in double or float"));
  launch::for_each_site_read_ahead<Storage>(sites, call.slots, hop, {call.working_set, call.geometry});
}
}  // namespace

template <class Layout, class Storage>
void launch_staggered_hop(const StaggeredHopCall& call, const SiteRange& sites) {
  if (launch::is_on_gpu<Layout> && call.energies != nullptr)
    throw BadArgument("energies of a staggered hop are not computed on GPUs");
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
