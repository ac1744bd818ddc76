#pragma once
/// A stencil visits the blocks of a layout in this order, which is chosen so that most neighbours are still
/// in a cache.
#include <cstdint>
#include <vector>

#include "trellis/lattice/site_layout.hpp"

namespace trellis {

/// Returns the given blocks in columns: a few rows of y and z through all times come first, then the next
/// rows. What a column needs of its times t - 1, t and t + 1 then fits a cache that three whole time slices
/// would leave, and only the rows at a column's faces are read again. Blocks lie in rows of x, so that each
/// step of a column is a few long pieces of every field.
/// @param column_blocks is the largest number of blocks of a column at one time (a row at least); where a
/// whole time slice is not larger, or no column is better than none, the order stays
std::vector<int32_t> in_columns(const SiteLayout& layout, const std::vector<int32_t>& blocks,
                                int column_blocks);

}  // namespace trellis
