// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/halo/vector_halo.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void pack(const VectorFaceCall& call, const SiteRange& sources) {
  using Face = VectorFace<Layout, Storage, LinkReals>;
  launch::for_each_site(sources, call.slots, PackFace<Face>{Face(call)});
}
}  // namespace

template <class Layout, class Storage>
void launch_vector_pack(const VectorFaceCall& call, const SiteRange& sources) {
  if (call.link_reals == 18) return pack<Layout, Storage, 18>(call, sources);
  if (call.link_reals == 14) return pack<Layout, Storage, 14>(call, sources);
  if (call.link_reals == 12) return pack<Layout, Storage, 12>(call, sources);
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 14, 12"));
}

template <class Layout, class Storage>
void launch_vector_unpack(const VectorFaceCall& call, const SiteRange& positions) {
  using Face = VectorFace<Layout, Storage, 18>;
  launch::for_each_site(positions, call.slots, UnpackFace<Face>{Face(call)});
}

template void launch_vector_pack<InstantiatedLayout, InstantiatedStorage>(const VectorFaceCall&,
                                                                          const SiteRange&);
template void launch_vector_unpack<InstantiatedLayout, InstantiatedStorage>(const VectorFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
