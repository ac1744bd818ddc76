#include "trellis/lattice/tile_order.hpp"

#include <algorithm>
#include <utility>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Returns the extents of a column: the longer one of y and z is halved until it is small enough.
Coord column_extents(Coord column, int column_sites) {
  while (int64_t(column[0]) * column[1] * column[2] > column_sites && std::max(column[1], column[2]) > 4) {
    int& longer = column[2] >= column[1] ? column[2] : column[1];
    longer = ((longer + 1) / 2 + 3) / 4 * 4;
  }
  return column;
}

/// It is a number that grows digit by digit, the slowest first.
class Rank {
 public:
  void append(int digit, int radix) { value_ = value_ * uint64_t(radix) + uint64_t(digit); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

/// Returns a number by which sites are put in order.
uint64_t rank_of(const Coord& x, const Coord& extents, const Coord& column) {
  const int y = x[1] % column[1], z = x[2] % column[2];
  Rank rank;
  rank.append(x[2] / column[2], extents[2]);
  rank.append(x[1] / column[1], extents[1]);
  rank.append(x[3] / 2, extents[3]);
  rank.append(z / 4, extents[2]);
  rank.append(y / 4, extents[1]);
  rank.append(x[0] / 8, extents[0]);
  rank.append(z / 2 % 2, 2);
  rank.append(x[3] % 2, 2);
  rank.append(y / 2 % 2, 2);
  rank.append(z % 2, 2);
  rank.append(y % 2, 2);
  rank.append(x[0] % 8, 8);
  return rank.value();
}
}  // namespace

std::vector<int32_t> in_tiles(const ExtendedLayout& layout, const std::vector<int32_t>& blocks,
                              int column_sites) {
  TRELLIS_REQUIRE(layout.lanes() == 1, "sites in tiles have one lane, not ", layout.lanes());
  const Coord& extents = layout.sub_extents();
  const Coord column = column_extents(extents, column_sites);
  std::vector<std::pair<uint64_t, int32_t>> ranked;
  ranked.reserve(blocks.size());
  for (const int32_t block : blocks)
    ranked.emplace_back(rank_of(layout.coord(block, 0), extents, column), block);
  std::sort(ranked.begin(), ranked.end());
  std::vector<int32_t> ordered;
  ordered.reserve(blocks.size());
  for (const auto& [rank, block] : ranked) ordered.push_back(block);
  return ordered;
}

}  // namespace trellis
