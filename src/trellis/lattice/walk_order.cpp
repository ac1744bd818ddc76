#include "trellis/lattice/walk_order.hpp"

#include <algorithm>
#include <array>

namespace trellis {

namespace {
/// A column has these extents, in rows.
struct Column {
  int y, z;
};

/// Returns the faces of a column through which neighbours come again, per row of it; 2 are the times before
/// and after where there are no columns.
double faces_per_row(const Column& c, const Coord& sub) {
  return (c.y < sub[1] ? 2.0 / c.y : 0.0) + (c.z < sub[2] ? 2.0 / c.z : 0.0);
}

Column best_column(const Coord& sub, int rows) {
  constexpr double faces_of_time = 2;
  Column best{sub[1], sub[2]};
  double fewest = faces_of_time;
  for (int y = 1; y <= std::min(rows, sub[1]); ++y) {
    const Column c{y, std::min(rows / y, sub[2])};
    const double faces = faces_per_row(c, sub);
    if (faces < faces_of_time && faces <= fewest) {  // the last of equal ones is taken, with longer pieces
      best = c;
      fewest = faces;
    }
  }
  return best;
}
}  // namespace

std::vector<int32_t> in_columns(const SiteLayout& layout, const std::vector<int32_t>& blocks,
                                int column_blocks) {
  const Coord& sub = layout.sub_extents();
  const int blocks_per_row = sub[0] / 2;
  if (column_blocks >= blocks_per_row * sub[1] * sub[2]) return blocks;
  const Column column = best_column(sub, std::max(1, column_blocks / blocks_per_row));
  using Key = std::array<int32_t, 4>;
  std::vector<Key> keys;
  keys.reserve(blocks.size());
  for (const int32_t block : blocks) {
    const int32_t row = block / blocks_per_row, y = row % sub[1], z = row / sub[1] % sub[2];
    keys.push_back({z / column.z, y / column.y, row / (sub[1] * sub[2]), block});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int32_t> ordered;
  ordered.reserve(blocks.size());
  for (const Key& key : keys) ordered.push_back(key[3]);
  return ordered;
}

}  // namespace trellis
