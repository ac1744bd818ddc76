#pragma once
/// The threads of a GPU take the sites of gauge fields in this order, in which most of the neighbours that a
/// block of threads reads are its own sites.
#include <cstdint>
#include <vector>

#include "trellis/lattice/extended_layout.hpp"

namespace trellis {

/// Returns the given inner blocks in tiles: 32 that follow each other have 8 x 2 x 2 x 1 sites (x, y, z, t),
/// 128 have 8 x 4 x 2 x 2, and 256 have 8 x 4 x 4 x 2. Eight sites in x are a line of a cache in double
/// precision. Tiles follow each other in columns: a part of y and z through all times comes first, then the
/// next part. What a column needs of its neighbouring times is then still in the second cache, which three
/// whole time slices would leave.
/// @param column_sites is the largest number of sites of a column at one time; columns of 4 rows of y and z
/// may have more
/// @pre the layout has one lane
std::vector<int32_t> in_tiles(const ExtendedLayout& layout, const std::vector<int32_t>& blocks,
                              int column_sites);

}  // namespace trellis
