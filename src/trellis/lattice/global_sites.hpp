#pragma once
/// The global index of every site of a layout, block by block and lane by lane: what random numbers are keyed
/// with.
#include <cstdint>
#include <vector>

#include "trellis/lattice/extended_layout.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

/// Returns [block][lane]; ghost blocks hold 0.
std::vector<int64_t> global_sites(const ExtendedLayout& layout);
/// Returns [block][lane] of one parity.
std::vector<int64_t> global_sites(const SiteLayout& layout, int parity);

}  // namespace trellis
