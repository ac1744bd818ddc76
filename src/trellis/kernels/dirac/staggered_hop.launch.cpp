// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/staggered_hop.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/dirac/staggered_hop_lines.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// Returns the same call with links that ask for those of so many blocks further on.
StaggeredHopCall asking(StaggeredHopCall call, int blocks_ahead) {
  for (HopPart* part : {&call.near, &call.far}) part->links_here.blocks_ahead = blocks_ahead;
  return call;
}

/// Adds to sums Re x^dagger out of each right-hand side, in the same pass.
template <class Storage, class Make, class Lines>
void run_with_energies(const StaggeredHopCall& call, const Make& make, const Lines& lines,
                       const SiteRange& sites) {
  const launch::WorkingSet all{call.working_set, call.geometry};
  if (call.slots == 1)
    return launch::reduce_sites_ask_ahead<1, Storage>(
        sites, 1, make, lines, all,
        [](const auto& hop, int block) TRELLIS_INLINE_LAMBDA {
          hop.template compute<1>(block, 0);
          return std::array{hop.energy(block, 0)};
        },
        call.energies);
  launch::reduce_sites_ask_ahead<2, Storage>(
      sites, 2, make, lines, all,
      [](const auto& hop, int block) TRELLIS_INLINE_LAMBDA {
        hop.template compute<2>(block, 0);
        return std::array{hop.energy(block, 0), hop.energy(block, 1)};
      },
      call.energies);
}

template <class Layout, class Storage, int NearReals, int FarReals>
void run(const StaggeredHopCall& call, const SiteRange& sites) {
  using Hop = StaggeredHop<Layout, Storage, NearReals, FarReals>;
  const auto make = [&](int blocks_ahead) {
    return blocks_ahead == 0 ? Hop(call) : Hop(asking(call, blocks_ahead));
  };
  const StaggeredHopLines<Layout, Storage, NearReals, FarReals> lines(call);
  if constexpr (!launch::is_on_gpu<Layout> &&
                std::is_same_v<Storage, typename StorageTraits<Storage>::compute>) {
    if (call.energies != nullptr && call.slots <= 2)
      return run_with_energies<Storage>(call, make, lines, sites);
  }
  if (call.energies != nullptr)
    throw BadArgument(message("energies of a staggered hop in ", call.slots,
                              " right-hand sides, or in 16-bit storage: at most 2, in double or float"));
  launch::for_each_site_ask_ahead<Storage>(sites, call.slots, make, lines, {call.working_set, call.geometry});
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
