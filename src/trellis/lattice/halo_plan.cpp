#include "trellis/lattice/halo_plan.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

HaloPlanBuilder::Steps HaloPlanBuilder::steps_to(const Coord& x) const {
  const Coord& local = geometry_.local();
  Coord ahead, back, here, there;  // the first two are steps on the grid; the others are global
                                   // coordinates of the ghost as this rank, or as the rank for which this
                                   // one owns it, counts them
  Steps steps;
  for (int mu = 0; mu < Nd; ++mu) {
    const int y = (x[mu] % local[mu] + local[mu]) % local[mu];
    steps.site[mu] = y;
    ahead[mu] = (x[mu] - y) / local[mu];
    back[mu] = -ahead[mu];
    here[mu] = geometry_.origin()[mu] + x[mu];
    const int parts = geometry_.grid().extents()[mu];
    const int coord = geometry_.origin()[mu] / local[mu] - ahead[mu];
    there[mu] = (coord % parts + parts) % parts * local[mu] + x[mu];
  }
  steps.from = geometry_.rank_at(ahead);
  steps.to = geometry_.rank_at(back);
  steps.receives = resolve(here, geometry_.lattice(), geometry_.boundary()) == SiteKind::site;
  steps.sends = steps.to != geometry_.rank() &&
                resolve(there, geometry_.lattice(), geometry_.boundary()) == SiteKind::site;
  return steps;
}

HaloPlan halo_plan(const ExtendedLayout& layout, int layers, int parity) {
  TRELLIS_REQUIRE(layers >= 1 && layers <= layout.width(), "a halo of ", layers,
                  " layers was asked for, the layout has ", layout.width());
  const Geometry& geometry = layout.geometry();
  const Coord& sub = layout.sub_extents();
  const int W = layout.lanes();
  Coord halo;
  for (int mu = 0; mu < Nd; ++mu) halo[mu] = geometry.is_split(mu) ? layers : 0;
  HaloPlanBuilder builder(geometry);
  const auto place = [&](const Coord& y) {
    return HaloPlace::of(0, layout.block_at(y), W, layout.lane_at(y));
  };
  Coord x;
  for (x[3] = -halo[3]; x[3] < sub[3] + halo[3]; ++x[3])
    for (x[2] = -halo[2]; x[2] < sub[2] + halo[2]; ++x[2])
      for (x[1] = -halo[1]; x[1] < sub[1] + halo[1]; ++x[1])
        for (x[0] = -halo[0]; x[0] < sub[0] + halo[0]; ++x[0]) {
          bool is_inner = true;
          for (int mu = 0; mu < Nd; ++mu) is_inner = is_inner && x[mu] >= 0 && x[mu] < sub[mu];
          if (is_inner || (parity >= 0 && site_parity(x) != parity)) continue;
          const int block = layout.block_of(x);
          for (int lane = 0; lane < W; ++lane)
            builder.add(layout.coord(block, lane), HaloPlace::of(0, block, W, lane), place);
        }
  return builder.take();
}

}  // namespace trellis
