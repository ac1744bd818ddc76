/// Sites in tiles are the same sites, and the neighbours of those of a tile lie in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "trellis/base/error.hpp"
#include "trellis/lattice/tile_order.hpp"

namespace trellis {
namespace in_test_tile_order {

ExtendedLayout layout_of(const Coord& lattice, const Coord& grid = {1, 1, 1, 1}) {
  return ExtendedLayout(Geometry(lattice, ProcessGrid(grid), 0), 1, 2);
}

/// Returns how many coordinates each direction has among `count` blocks from `first` on.
Coord extents_of(const ExtendedLayout& layout, const std::vector<int32_t>& blocks, size_t first,
                 size_t count) {
  std::set<int> seen[Nd];
  for (size_t i = first; i < first + count; ++i) {
    const Coord x = layout.coord(blocks[i], 0);
    for (int mu = 0; mu < Nd; ++mu) seen[mu].insert(x[mu]);
  }
  return {int(seen[0].size()), int(seen[1].size()), int(seen[2].size()), int(seen[3].size())};
}

TEST(TileOrder, keeps_the_sites) {
  for (const Coord& lattice : {Coord{4, 4, 4, 4}, Coord{12, 6, 10, 2}, Coord{16, 16, 16, 4}})
    for (const int column_sites : {1, 100, 4096}) {
      const ExtendedLayout layout = layout_of(lattice);
      for (int parity = -1; parity < 2; ++parity) {
        std::vector<int32_t> blocks = parity < 0 ? layout.inner() : layout.inner(parity);
        std::vector<int32_t> tiles = in_tiles(layout, blocks, column_sites);
        std::sort(blocks.begin(), blocks.end());
        std::sort(tiles.begin(), tiles.end());
        EXPECT_EQ(tiles, blocks);
      }
    }
}

TEST(TileOrder, has_tiles_of_the_stated_shapes) {
  const ExtendedLayout layout = layout_of({16, 16, 16, 8});
  const std::vector<int32_t> tiles = in_tiles(layout, layout.inner(), 1024);
  for (size_t first = 0; first < tiles.size(); first += 32)
    EXPECT_EQ(extents_of(layout, tiles, first, 32), (Coord{8, 2, 2, 1}));
  for (size_t first = 0; first < tiles.size(); first += 128)
    EXPECT_EQ(extents_of(layout, tiles, first, 128), (Coord{8, 4, 2, 2}));
  for (size_t first = 0; first < tiles.size(); first += 256)
    EXPECT_EQ(extents_of(layout, tiles, first, 256), (Coord{8, 4, 4, 2}));
  // A column of 16 x 8 x 8 sites goes through all eight times.
  for (size_t first = 0; first < tiles.size(); first += 8192)
    EXPECT_EQ(extents_of(layout, tiles, first, 8192), (Coord{16, 8, 8, 8}));
  // Eight sites in x lie side by side in memory, at a multiple of eight.
  for (size_t first = 0; first < tiles.size(); first += 8) {
    EXPECT_EQ(tiles[first] % 8, 0);
    for (size_t i = 1; i < 8; ++i) EXPECT_EQ(tiles[first + i], tiles[first] + int32_t(i));
  }
}

TEST(TileOrder, needs_one_lane) {
  const ExtendedLayout layout(Geometry({8, 8, 8, 8}, ProcessGrid({1, 1, 1, 1}), 0), 4, 2);
  EXPECT_THROW(in_tiles(layout, layout.inner(), 4096), BadArgument);
}

}  // namespace in_test_tile_order
}  // namespace trellis
