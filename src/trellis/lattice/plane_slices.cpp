#include "trellis/lattice/plane_slices.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"

namespace trellis {

PlaneSlices::PlaneSlices(const ExtendedLayout& layout, int mu, int nu)
    : places_(size_t(layout.blocks()), int32_t(-1)) {
  TRELLIS_REQUIRE(mu != nu && std::min(mu, nu) >= 0 && std::max(mu, nu) < Nd, "plane of the directions ", mu,
                  " and ", nu);
  TRELLIS_REQUIRE(layout.width() >= before, "slices need a halo of ", before, " sites, found ",
                  layout.width());
  const Coord& sub = layout.sub_extents();
  const auto first = [&](int direction) { return layout.geometry().is_split(direction) ? -before : 0; };
  const auto last = [&](int direction) {
    return sub[direction] - 1 + (layout.geometry().is_split(direction) ? after : 0);
  };
  int place = 0;
  for (int b = first(nu); b <= last(nu); ++b)
    for (int a = first(mu); a <= last(mu); ++a, ++place) {
      const bool inner_a = a >= 0 && a < sub[mu], inner_b = b >= 0 && b < sub[nu];
      if (inner_a && inner_b) inner_.push_back(place);
      if (inner_a ? b >= -1 && b < sub[nu] : inner_b && a == -1) plaquettes_.push_back(place);
    }
  per_slice_ = place;
  Coord x{0, 0, 0, 0};
  int across[2], k = 0;
  for (int direction = 0; direction < Nd; ++direction)
    if (direction != mu && direction != nu) across[k++] = direction;
  for (x[across[1]] = 0; x[across[1]] < sub[across[1]]; ++x[across[1]])
    for (x[across[0]] = 0; x[across[0]] < sub[across[0]]; ++x[across[0]], ++slices_) {
      place = 0;
      for (x[nu] = first(nu); x[nu] <= last(nu); ++x[nu])
        for (x[mu] = first(mu); x[mu] <= last(mu); ++x[mu], ++place) {
          const int block = layout.block_of(x);
          blocks_.push_back(block);
          places_[size_t(block)] = place;
        }
    }
}

}  // namespace trellis
