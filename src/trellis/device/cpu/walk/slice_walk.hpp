#pragma once
/// Passes over the lattice follow each other closely here: each takes, at a site, what the one before left
/// there and at its neighbours, as the two hops of an even-odd operator do.
///
/// One after the other, each reads all links, and all that the one before wrote. Together, time slice after
/// time slice, each pass is a few slices behind the one before, and finds links and the fields in between in
/// the cache that the cores share, if that holds so many slices: one pass over memory does for several. What
/// comes from memory can be read in sequence before the first pass needs it (device/block_stream.hpp). (This
/// is temporal blocking of stencils, as a wavefront in time.) What is computed, and from what, is the same.
#include <functional>
#include <vector>

#include "trellis/device/launch_trials.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

using SliceStep = std::function<void(const SiteRange& sites)>;

struct SlicePass {
  /// Computes the blocks of a range.
  SliceStep step;
  /// A site takes what the pass before left over so many time slices; 0 takes it at the site only.
  int reach = 0;
  /// These serve where other ranks have the slices before the first and behind the last: `start` sends what
  /// lies within reach of them, and after `finish` the slices within reach can be computed. Where they are
  /// empty, time closes here.
  std::function<void()> start = {}, finish = {};
};

struct SliceWalk {
  std::vector<SlicePass> passes;
  /// Brings the blocks of a range nearer; may be empty.
  SliceStep read;
  /// Reading is so many slices ahead of the first pass.
  int read_ahead = 0;
};

/// Computes all passes for all blocks of the layout; each slice of a pass comes as soon as the passes behind
/// it need it. Exchanges start and finish once each, in the order of their passes, one after the other.
/// @pre the lanes' part of time has more slices than the passes reach over together, both ways; all passes
///     that reach over slices exchange them with other ranks, or none does
void walk_in_slices(const SiteLayout& layout, const SliceWalk& walk);
/// Returns whether a rank has whole time slices.
bool has_whole_slices(const SiteLayout& layout);
/// Returns whether there are slices enough.
bool can_walk_in_slices(const SiteLayout& layout, const SliceWalk& walk);

/// Passes have one of these orders; in_slices_read calls SliceWalk::read, if there is one.
enum class PassOrder { faster, apart, in_slices, in_slices_read };

/// Walks by walk_of(order), for one of the orders in slices, or calls apart(), which is to do the same work:
/// as asked for, or in whichever way is fastest where all are possible.
/// @param subject has the size of all fields concerned
/// @param trials are those of these passes, with slice_orders ways, or 2 where nothing is read
void walk_in_order(PassOrder order, const SiteLayout& layout,
                   const std::function<SliceWalk(PassOrder)>& walk_of, const LaunchSubject& subject,
                   LaunchTrials& trials, const std::function<void()>& apart);
inline constexpr int slice_orders = 3;

/// Returns what a pass touches that finds everything in a cache: the bytes of the slices that it reaches
/// over.
size_t near_set(size_t working_set, const SiteLayout& layout, int reach);

}  // namespace trellis
