// instantiate: STORAGE=double,float,Half
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/dirac/wilson_hop_compressed.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage>
struct Pack {
  WilsonFace<Layout, Storage, 8> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.pack(index, slot); }
};
}  // namespace

template <class Layout, class Storage>
void launch_wilson_hop_compressed(const WilsonHopCall& call, const SiteRange& sites) {
  cuda::for_each_site(sites, call.slots, WilsonHop<Layout, Storage, 8>(call));
}

template <class Layout, class Storage>
void launch_wilson_pack_compressed(const WilsonFaceCall& call, const SiteRange& face) {
  cuda::for_each_site(face, call.face.slots, Pack<Layout, Storage>{WilsonFace<Layout, Storage, 8>(call)});
}

template void launch_wilson_hop_compressed<InstantiatedLayout, InstantiatedStorage>(const WilsonHopCall&,
                                                                                    const SiteRange&);
template void launch_wilson_pack_compressed<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                                     const SiteRange&);

}  // namespace trellis
