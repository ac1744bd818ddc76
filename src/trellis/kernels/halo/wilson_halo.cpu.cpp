// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/halo/wilson_halo.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void pack(const WilsonFaceCall& call, const SiteRange& face) {
  const WilsonFace<Layout, Storage, LinkReals> kernel(call);
  cpu::for_each_site(face, [&](int index) {
    for (int slot = 0; slot < call.face.slots; ++slot) kernel.pack(index, slot);
  });
}
}  // namespace

template <class Layout, class Storage>
void launch_wilson_pack(const WilsonFaceCall& call, const SiteRange& face) {
  if (call.link_reals == 18) return pack<Layout, Storage, 18>(call, face);
  if (call.link_reals == 12) return pack<Layout, Storage, 12>(call, face);
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 12"));
}

template <class Layout, class Storage>
void launch_wilson_unpack(const WilsonFaceCall& call, const SiteRange& face) {
  const WilsonFace<Layout, Storage, 18> kernel(call);
  cpu::for_each_site(face, [&](int index) {
    for (int slot = 0; slot < call.face.slots; ++slot) kernel.unpack(index, slot);
  });
}

template void launch_wilson_pack<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                          const SiteRange&);
template void launch_wilson_unpack<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
