// instantiate: BACKEND=cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/wilson_hop_fused.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/fused_launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {

namespace {
/// The hop says of which legs it reads ghosts.
template <class Layout, class Storage, int LinkReals>
struct WilsonHopWithGhosts {
  using Hop = WilsonHop<Layout, Storage, LinkReals>;
  static constexpr int most_columns = Hop::most_columns;
  Hop hop;
  StencilView<Layout, typename Hop::Scalar> stencil;

  template <int S>
  TRELLIS_SITE_FN void compute(int block, int slot) const {
    hop.template compute<S>(block, slot);
  }
  TRELLIS_SITE_FN unsigned ghost_legs(int block) const {
    unsigned legs = 0;
    for (int leg = 0; leg < 8; ++leg) legs |= unsigned(stencil.neighbour(block, leg).is_ghost) << leg;
    return legs;
  }
};

template <class Layout, class Storage, int LinkReals>
void run(const WilsonHopCall& call, const WilsonFacesCall& faces, const HaloFlags& flags,
         const SiteRange& inner, const SiteRange& border) {
  using Pack = PackFaces<Layout, WilsonFaces<Layout, Storage, LinkReals>>;
  using Hop = WilsonHopWithGhosts<Layout, Storage, LinkReals>;
  const FusedHop<Pack, Hop> fused{{typename Hop::Hop(call), {call.stencil.table, call.stencil.legs}},
                                  Pack(WilsonFaces<Layout, Storage, LinkReals>(faces)),
                                  flags,
                                  inner.list + inner.begin,
                                  border.list + border.begin,
                                  inner.size(),
                                  border.size(),
                                  call.slots};
  launch::in_one_launch<Storage>(fused, {call.working_set, call.geometry},
                                 launch::Columns{call.columns_per_thread});
}
}  // namespace

template <class Layout, class Storage>
void launch_wilson_hop_fused(const WilsonHopCall& call, const WilsonFacesCall& faces, const HaloFlags& flags,
                             const SiteRange& inner, const SiteRange& border) {
  if (call.link_reals == 18) return run<Layout, Storage, 18>(call, faces, flags, inner, border);
  if (call.link_reals == 12) return run<Layout, Storage, 12>(call, faces, flags, inner, border);
  if constexpr (!std::is_same_v<Storage, Fp16>)
    if (call.link_reals == 8) return run<Layout, Storage, 8>(call, faces, flags, inner, border);
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 12, 8"));
}

template void launch_wilson_hop_fused<InstantiatedLayout, InstantiatedStorage>(
    const WilsonHopCall&, const WilsonFacesCall&, const HaloFlags&, const SiteRange&, const SiteRange&);

}  // namespace trellis
