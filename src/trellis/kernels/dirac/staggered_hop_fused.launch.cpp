// instantiate: BACKEND=cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/staggered_hop_fused.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/fused_launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// The hop says of which legs it reads ghosts: those over three sites have the upper eight bits.
template <class Layout, class Storage, int NearReals, int FarReals>
struct StaggeredHopWithGhosts {
  using Hop = StaggeredHop<Layout, Storage, NearReals, FarReals>;
  static constexpr int most_columns = Hop::most_columns;
  Hop hop;
  HopStencilView<Layout> near, far;

  template <int S>
  TRELLIS_SITE_FN void compute(int block, int slot) const {
    hop.template compute<S>(block, slot);
  }
  TRELLIS_SITE_FN unsigned ghost_legs(int block) const {
    unsigned legs = 0;
    for (int leg = 0; leg < 8; ++leg) {
      legs |= unsigned(near.neighbour(block, leg).is_ghost) << leg;
      if constexpr (FarReals != 0) legs |= unsigned(far.neighbour(block, leg).is_ghost) << (8 + leg);
    }
    return legs;
  }
};

template <class Layout, class Storage, int NearReals, int FarReals>
void run(const StaggeredHopCall& call, const VectorFacesCall& faces, const HaloFlags& flags,
         const SiteRange& inner, const SiteRange& border) {
  using Faces = VectorFaces<Layout, Storage, NearReals, FarReals == 0 ? NearReals : FarReals>;
  using Pack = PackFaces<Layout, Faces>;
  using Hop = StaggeredHopWithGhosts<Layout, Storage, NearReals, FarReals>;
  const FusedHop<Pack, Hop> fused{{typename Hop::Hop(call), HopStencilView<Layout>(call.near.stencil),
                                   HopStencilView<Layout>(call.far.stencil)},
                                  Pack(Faces(faces)),
                                  flags,
                                  inner.list + inner.begin,
                                  border.list + border.begin,
                                  inner.size(),
                                  border.size(),
                                  call.slots};
  launch::in_one_launch<Storage>(fused, {call.working_set, call.geometry}, {});
}
}  // namespace

template <class Layout, class Storage>
void launch_staggered_hop_fused(const StaggeredHopCall& call, const VectorFacesCall& faces,
                                const HaloFlags& flags, const SiteRange& inner, const SiteRange& border) {
  if (call.energies != nullptr) throw BadArgument("energies of a staggered hop are not computed on GPUs");
  const int near = call.near.link_reals, far = call.far.link_reals;
  if (near == 12 && far == 0) return run<Layout, Storage, 12, 0>(call, faces, flags, inner, border);
  if (near == 18 && far == 0) return run<Layout, Storage, 18, 0>(call, faces, flags, inner, border);
  if (near == 18 && far == 14) return run<Layout, Storage, 18, 14>(call, faces, flags, inner, border);
  if (near == 18 && far == 18) return run<Layout, Storage, 18, 18>(call, faces, flags, inner, border);
  throw BadArgument(message("staggered hop with links of ", near, " and long links of ", far,
                            " reals: 12 or 18 without long links, 18 with long links of 14 or 18"));
}

template void launch_staggered_hop_fused<InstantiatedLayout, InstantiatedStorage>(
    const StaggeredHopCall&, const VectorFacesCall&, const HaloFlags&, const SiteRange&, const SiteRange&);

}  // namespace trellis
