// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/cpu/walk/read_ahead.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void run(const WilsonHopCall& call, const SiteRange& sites) {
  const WilsonHop<Layout, Storage, LinkReals> hop(call);
  const int slots = call.slots;
  const auto bring = [&](int block, const auto& lines) {
    hop.read_ahead(block, slots, lines, cpu::claim_lines);
  };
  thread_local cpu::WalkTrials trials(cpu::ways_ahead, typeid(hop));
  const cpu::Traffic traffic{hop.bytes_of_block(slots),
                             {call.working_set, call.geometry, slots, cpu::storage_name<Storage>()}};
  cpu::for_each_site_read_ahead(sites, traffic, trials, bring, [&](int block) {
    for (int slot = 0; slot < slots; ++slot) hop(block, slot);
  });
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
