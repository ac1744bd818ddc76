#include "trellis/lattice/lane_split.hpp"

#include <array>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Halves of what is shorter than this would have their edges at every second site.
constexpr int shortest_long_extent = 8;

/// Ranks a direction that is `sub` sites long: the one with the smaller number is better to split in two.
/// Neighbours in t are a time slice apart in memory: that slices have few blocks is worth more than short
/// edges (5 to 15 % of hops beyond the L2).
std::array<int, 4> rank_of(const Geometry& geometry, int mu, int sub) {
  const bool is_long_in_space = mu < 3 && sub >= shortest_long_extent;
  return {geometry.is_split(mu) ? 1 : 0, is_long_in_space ? 0 : 1, -sub, mu};
}

/// Splits one direction after the other in two, the best first; returns false when the lattice is too short.
bool split_into(const Geometry& geometry, int lanes, LaneSplit& result) {
  result = LaneSplit{};
  Coord& s = result.lanes_per_direction;
  const auto sub = [&](int mu) { return geometry.local()[mu] / s[mu]; };
  while (result.lanes() < lanes) {
    int best = -1;
    for (int mu = 0; mu < Nd; ++mu)
      if (sub(mu) % 4 == 0 &&
          (best < 0 || rank_of(geometry, mu, sub(mu)) < rank_of(geometry, best, sub(best))))
        best = mu;
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
