// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double
#include "trellis/kernels/source/covariant_hop.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_covariant_hop(const CovariantHopCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, call.slots, CovariantHop<Layout, Storage>(call));
}
template <class Layout, class Storage>
void launch_spinor_pack(const SpinorFacesCall& call) {
  const PackFaces<Layout, SpinorFaces<Layout, Storage>> faces{SpinorFaces<Layout, Storage>(call)};
  launch::for_each_site(SiteRange(faces.sites()), call.slots, faces);
}
template <class Layout, class Storage>
void launch_spinor_unpack(const LaneFaceCall& call, const SiteRange& face) {
  using Face = SpinorArrivals<Layout, Storage>;
  launch::for_each_site(face, call.slots, UnpackFace<Face>{Face(call)});
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_covariant_hop<L, S>(const CovariantHopCall&, const SiteRange&);
template void launch_spinor_pack<L, S>(const SpinorFacesCall&);
template void launch_spinor_unpack<L, S>(const LaneFaceCall&, const SiteRange&);

}  // namespace trellis
