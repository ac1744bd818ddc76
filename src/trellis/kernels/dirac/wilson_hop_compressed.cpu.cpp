// instantiate: STORAGE=double,float,Half LANES=1,4,8,16
#include "trellis/kernels/dirac/wilson_hop_compressed.hpp"
#include "trellis/device/cpu/walk/read_ahead.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_wilson_hop_compressed(const WilsonHopCall& call, const SiteRange& sites) {
  const WilsonHop<Layout, Storage, 8> hop(call);
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

template <class Layout, class Storage>
void launch_wilson_pack_compressed(const WilsonFaceCall& call, const SiteRange& face) {
  const WilsonFace<Layout, Storage, 8> kernel(call);
  cpu::for_each_site(face, [&](int index) {
    for (int slot = 0; slot < call.face.slots; ++slot) kernel.pack(index, slot);
  });
}

template void launch_wilson_hop_compressed<InstantiatedLayout, InstantiatedStorage>(const WilsonHopCall&,
                                                                                    const SiteRange&);
template void launch_wilson_pack_compressed<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                                     const SiteRange&);

}  // namespace trellis
