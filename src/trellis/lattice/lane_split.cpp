#include "trellis/lattice/lane_split.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Splits one direction after the other in two, the best first; false when the lattice is too short.
bool split_into(const Geometry& geometry, int lanes, LaneSplit& result) {
  result = LaneSplit{};
  Coord& s = result.lanes_per_direction;
  while (result.lanes() < lanes) {
    int best = -1;
    for (int mu = Nd - 1; mu >= 0; --mu) {
      const int sub = geometry.local()[mu] / s[mu];
      if (sub % 4 != 0) continue;
      const bool better =
          best < 0 || geometry.is_split(mu) < geometry.is_split(best) ||
          (geometry.is_split(mu) == geometry.is_split(best) && sub > geometry.local()[best] / s[best]);
      if (better) best = mu;
    }
    if (best < 0) return false;
    s[best] *= 2;
  }
  return true;
}
}  // namespace

LaneSplit choose_lane_split(const Geometry& geometry, int lanes) {
  TRELLIS_REQUIRE(lanes == 1 || lanes == 4 || lanes == 8 || lanes == 16, "lane count ", lanes,
                  " is not one of 1, 4, 8, 16");
  LaneSplit split;
  for (int w = lanes; w > 1; w = (w == 4 ? 1 : w / 2))
    if (split_into(geometry, w, split)) return split;
  return LaneSplit{};
}

}  // namespace trellis
