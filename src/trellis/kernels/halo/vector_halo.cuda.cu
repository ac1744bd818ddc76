// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/halo/vector_halo.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
struct Pack {
  VectorFace<Layout, Storage, LinkReals> face;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { face.pack(index, slot); }
};
template <class Layout, class Storage>
struct Unpack {
  VectorFace<Layout, Storage, 18> face;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { face.unpack(index, slot); }
};
template <class Layout, class Storage, int LinkReals>
void pack(const VectorFaceCall& call, const SiteRange& sources) {
  cuda::for_each_site(sources, call.slots,
                      Pack<Layout, Storage, LinkReals>{VectorFace<Layout, Storage, LinkReals>(call)});
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
  cuda::for_each_site(positions, call.slots, Unpack<Layout, Storage>{VectorFace<Layout, Storage, 18>(call)});
}

template void launch_vector_pack<InstantiatedLayout, InstantiatedStorage>(const VectorFaceCall&,
                                                                          const SiteRange&);
template void launch_vector_unpack<InstantiatedLayout, InstantiatedStorage>(const VectorFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
