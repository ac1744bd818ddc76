// instantiate: STORAGE=double
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/source/covariant_hop.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage>
struct Pack {
  SpinorFace<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.pack(index, slot); }
};
template <class Layout, class Storage>
struct Unpack {
  SpinorFace<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.unpack(index, slot); }
};
}  // namespace

template <class Layout, class Storage>
void launch_covariant_hop(const CovariantHopCall& call, const SiteRange& blocks) {
  cuda::for_each_site(blocks, call.slots, CovariantHop<Layout, Storage>(call));
}
template <class Layout, class Storage>
void launch_spinor_pack(const SpinorFaceCall& call, const SiteRange& face) {
  cuda::for_each_site(face, call.face.slots, Pack<Layout, Storage>{SpinorFace<Layout, Storage>(call)});
}
template <class Layout, class Storage>
void launch_spinor_unpack(const SpinorFaceCall& call, const SiteRange& face) {
  cuda::for_each_site(face, call.face.slots, Unpack<Layout, Storage>{SpinorFace<Layout, Storage>(call)});
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_covariant_hop<L, S>(const CovariantHopCall&, const SiteRange&);
template void launch_spinor_pack<L, S>(const SpinorFaceCall&, const SiteRange&);
template void launch_spinor_unpack<L, S>(const SpinorFaceCall&, const SiteRange&);

}  // namespace trellis
