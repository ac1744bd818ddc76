#pragma once
/// Random fields of multigrid are the same on any ranks, threads and lanes.
#include <cstdint>
#include <vector>

#include "trellis/field/storage/site_field.hpp"

namespace trellis {

/// Coarse fields have this draw, and so random numbers of their own; set-ups draw anew.
inline constexpr uint32_t coarse_noise = 1000;
/// Returns the first numbers of a level between the finest and the coarsest, which draws anew fewer than a
/// hundred times.
inline constexpr uint32_t noise_of_level(int level) { return 2000 + 100 * uint32_t(level); }

/// Fills a field with uniform numbers between -1/2 and 1/2. Column i is that of the number numbers[i],
/// whatever the others are.
void fill_with_noise(SiteField& field, uint64_t seed, uint32_t draw, const std::vector<int>& numbers);
/// Returns 0, 1, .. for all columns of a field.
std::vector<int> all_columns(const SiteField& field);

}  // namespace trellis
