// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/halo/vector_halo.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int NearReals, int FarReals>
void pack(const VectorFacesCall& call) {
  using Faces = VectorFaces<Layout, Storage, NearReals, FarReals>;
  const PackFaces<Layout, Faces> faces{Faces(call)};
  launch::for_each_site(SiteRange(faces.sites()), call.slots, faces);
}
}  // namespace

template <class Layout, class Storage>
void launch_vector_pack(const VectorFacesCall& call) {
  const int near = call.link_reals[0], far = call.link_reals[1];
  if (near == 18 && far == 18) return pack<Layout, Storage, 18, 18>(call);
  if (near == 18 && far == 14) return pack<Layout, Storage, 18, 14>(call);
  if (near == 14 && far == 14) return pack<Layout, Storage, 14, 14>(call);
  if (near == 12 && far == 12) return pack<Layout, Storage, 12, 12>(call);
  throw BadArgument(
      message("faces of links of ", near, " and ", far, " reals; expected twice 18, 14 or 12, or 18 and 14"));
}

template <class Layout, class Storage>
void launch_vector_unpack(const VectorFaceCall& call, const SiteRange& positions) {
  using Places = VectorPlaces<Layout, Storage>;
  launch::for_each_site(positions, call.slots, UnpackFace<Places>{Places(call)});
}

template void launch_vector_pack<InstantiatedLayout, InstantiatedStorage>(const VectorFacesCall&);
template void launch_vector_unpack<InstantiatedLayout, InstantiatedStorage>(const VectorFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
