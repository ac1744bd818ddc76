// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/dirac/staggered_hop.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/cpu/walk/read_ahead.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int NearReals, int FarReals>
void run(const StaggeredHopCall& call, const SiteRange& sites) {
  StaggeredHop<Layout, Storage, NearReals, FarReals> hop(call);
  const int slots = call.slots;
  const auto bring = [&](int block, const auto& lines) {
    hop.read_ahead(block, slots, lines, cpu::claim_lines);
  };
  const cpu::Traffic traffic{hop.bytes_of_block(slots),
                             {call.working_set, call.geometry, slots, cpu::storage_name<Storage>()}};
  const auto prepare = [&](cpu::Ahead ahead) { hop.set_asks_ahead(ahead == cpu::Ahead::along); };
  thread_local cpu::WalkTrials trials(cpu::ways_ahead_along, typeid(hop));
  if constexpr (std::is_same_v<Storage, typename StorageTraits<Storage>::compute>) {
    if (call.energies != nullptr && slots == 1)
      return cpu::reduce_sites_read_ahead<1>(
          sites, traffic, trials, bring,
          [&](int block) {
            hop.template compute<1>(block, 0);
            return std::array{hop.energy(block, 0)};
          },
          call.energies, prepare);
    if (call.energies != nullptr && slots == 2)
      return cpu::reduce_sites_read_ahead<2>(
          sites, traffic, trials, bring,
          [&](int block) {
            hop.template compute<2>(block, 0);
            return std::array{hop.energy(block, 0), hop.energy(block, 1)};
          },
          call.energies, prepare);
  }
  if (call.energies != nullptr)
    throw BadArgument(message("energies of a staggered hop in ", slots,
                              " right-hand sides, or in 16-bit storage: at most 2, in double or float"));
  cpu::for_each_site_read_ahead(
      sites, traffic, trials, bring,
      [&](int block) {
        int slot = 0;
        for (; slot + 2 <= slots; slot += 2) hop.template compute<2>(block, slot);
        if (slot < slots) hop.template compute<1>(block, slot);
      },
      prepare);
}
}  // namespace

template <class Layout, class Storage>
void launch_staggered_hop(const StaggeredHopCall& call, const SiteRange& sites) {
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
