#pragma once
/// Passes over the lattice that follow each other closely: each takes, at a site, what the one before left
/// there and at its neighbours, as the two hops of an even-odd operator do.
///
/// One after the other, each reads all links, and all that the one before wrote. Together, time slice after
/// time slice, each pass is a few slices behind the one before, and finds links and the fields in between in
/// the cache that the cores share, if that holds so many slices: one pass over memory instead of several.
/// (Temporal blocking of stencils, as a wavefront in time.) What is computed, and from what, is the same.
#include <functional>
#include <vector>

#include "trellis/device/site_range.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

struct SlicePass {
  /// Computes the blocks of a range.
  std::function<void(const SiteRange& sites)> step;
  /// Over how many time slices a site takes what the pass before left; 0: at the site only.
  int reach = 0;
};

/// All passes for all blocks of the layout; each slice of a pass as soon as the passes behind it need it.
/// @pre the lanes' part of time has more slices than the passes reach over together, both ways
void walk_in_slices(const SiteLayout& layout, const std::vector<SlicePass>& passes);
/// Whether there are slices enough.
bool can_walk_in_slices(const SiteLayout& layout, const std::vector<SlicePass>& passes);

enum class PassOrder { faster, apart, in_slices };

/// The same, or apart(), which is to do the same work: as asked for, or whichever is faster
/// (device/cpu/walk_trial.hpp) where both are possible.
/// @param working_set bytes of all fields concerned, on this rank
void walk_in_order(PassOrder order, const SiteLayout& layout, const std::vector<SlicePass>& passes,
                   size_t working_set, const std::function<void()>& apart);

}  // namespace trellis
