// instantiate: STORAGE=double LANES=1,4,8,16
#include "trellis/kernels/source/covariant_hop.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_covariant_hop(const CovariantHopCall& call, const SiteRange& blocks) {
  const CovariantHop<Layout, Storage> hop(call);
  cpu::for_each_site(blocks, [&](int block) {
    for (int slot = 0; slot < call.slots; ++slot) hop(block, slot);
  });
}
template <class Layout, class Storage>
void launch_spinor_pack(const SpinorFaceCall& call, const SiteRange& face) {
  const SpinorFace<Layout, Storage> kernel(call);
  cpu::for_each_site(face, [&](int index) {
    for (int slot = 0; slot < call.face.slots; ++slot) kernel.pack(index, slot);
  });
}
template <class Layout, class Storage>
void launch_spinor_unpack(const SpinorFaceCall& call, const SiteRange& face) {
  const SpinorFace<Layout, Storage> kernel(call);
  cpu::for_each_site(face, [&](int index) {
    for (int slot = 0; slot < call.face.slots; ++slot) kernel.unpack(index, slot);
  });
}

template void launch_covariant_hop<InstantiatedLayout, InstantiatedStorage>(const CovariantHopCall&,
                                                                            const SiteRange&);
template void launch_spinor_pack<InstantiatedLayout, InstantiatedStorage>(const SpinorFaceCall&,
                                                                          const SiteRange&);
template void launch_spinor_unpack<InstantiatedLayout, InstantiatedStorage>(const SpinorFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
