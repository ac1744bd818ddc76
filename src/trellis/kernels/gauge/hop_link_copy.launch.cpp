// instantiate: BACKEND=cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/gauge/hop_link_copy.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <int N, class Layout, class Storage>
void launch_reals(const HopLinkCopyCall& call, const SiteRange& blocks) {
  const HopLinkCopy<Layout, Storage, N> kernel(call);
  launch::for_each_site(blocks, 4, kernel);
}
}  // namespace

template <class Layout, class Storage>
void launch_hop_link_copy(const HopLinkCopyCall& call, const SiteRange& blocks) {
  switch (call.link_reals) {
    case 18:
      return launch_reals<18, Layout, Storage>(call, blocks);
    case 14:
      return launch_reals<14, Layout, Storage>(call, blocks);
    case 12:
      return launch_reals<12, Layout, Storage>(call, blocks);
    default:
      return launch_reals<8, Layout, Storage>(call, blocks);
  }
}

template void launch_hop_link_copy<InstantiatedLayout, InstantiatedStorage>(const HopLinkCopyCall&,
                                                                            const SiteRange&);

}  // namespace trellis
