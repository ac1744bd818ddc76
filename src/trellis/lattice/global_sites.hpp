#pragma once
/// Every site of a layout has a global index, here block by block and lane by lane. Random numbers are keyed
/// with it.
#include <cstdint>
#include <vector>

#include "trellis/lattice/extended_layout.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

/// Returns the indices [block][lane]; ghost blocks hold 0.
std::vector<int64_t> global_sites(const ExtendedLayout& layout);
/// Returns the indices [block][lane] of one parity.
std::vector<int64_t> global_sites(const SiteLayout& layout, int parity);

}  // namespace trellis
