// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/halo/wilson_halo.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void pack(const WilsonFacesCall& call) {
  const PackFaces<Layout, WilsonFaces<Layout, Storage, LinkReals>> faces{
      WilsonFaces<Layout, Storage, LinkReals>(call)};
  launch::for_each_site(SiteRange(faces.sites()), call.slots, faces);
}
}  // namespace

template <class Layout, class Storage>
void launch_wilson_pack(const WilsonFacesCall& call) {
  if (call.link_reals == 18) return pack<Layout, Storage, 18>(call);
  if (call.link_reals == 12) return pack<Layout, Storage, 12>(call);
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 12"));
}

template <class Layout, class Storage>
void launch_wilson_unpack(const LaneFaceCall& call, const SiteRange& face) {
  using Face = WilsonArrivals<Layout, Storage>;
  launch::for_each_site(face, call.slots, UnpackFace<Face>{Face(call)});
}

template void launch_wilson_pack<InstantiatedLayout, InstantiatedStorage>(const WilsonFacesCall&);
template void launch_wilson_unpack<InstantiatedLayout, InstantiatedStorage>(const LaneFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
