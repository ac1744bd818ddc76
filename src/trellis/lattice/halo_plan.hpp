#pragma once
/// A plan says what the ranks of a lattice send each other so that every rank has its ghosts: it has lists of
/// sites, which know neither what a site holds nor how messages travel. All ranks cut alike make their lists
/// in the same order, so that a list of what one sends and the list of what the other receives match without
/// a word.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "trellis/lattice/extended_layout.hpp"

namespace trellis {

/// A site in the memory of a field has an array (a parity of an even-odd field), a block and a lane.
struct HaloPlace {
  static int32_t of(int array, int64_t block, int lanes, int lane) {
    return int32_t((block * lanes + lane) << 1 | array);
  }
};

struct HaloPlan {
  /// A peer is one other rank with its messages to and fro: they have the places of what is sent, and of the
  /// ghosts that are received.
  struct Peer {
    std::vector<int32_t> sends, receives;
    /// Returns the sites of the longer message: where a field has sites of one parity only, one way may have
    /// more.
    int64_t longer_way() const { return int64_t(std::max(sends.size(), receives.size())); }
  };
  std::map<int, Peer> peers;  ///< the key is the rank
  /// These ghosts have their sites on this rank: on a short grid, or in another lane.
  std::vector<int32_t> own_sites, own_ghosts;
  /// Messages have the sites of whole blocks, lane by lane, on all ranks; they may move as blocks do.
  bool is_in_blocks = false;
};

/// Adds ghosts to a plan.
class HaloPlanBuilder {
 public:
  explicit HaloPlanBuilder(const Geometry& geometry) : geometry_{geometry} {}

  /// Adds the ghost at local coordinates x, which may lie beyond this rank in any direction that ranks split.
  /// It has the given place, or -1 where this rank wants no such ghost. site_place(y) is the place of this
  /// rank's site y, or -1 where others want no such ghost. Every rank goes through the same x in the same
  /// order.
  template <class SitePlace>
  void add(const Coord& x, int32_t ghost_place, const SitePlace& site_place) {
    const Steps steps = steps_to(x);
    const int32_t place = site_place(steps.site);
    if (steps.sends && place >= 0) plan_.peers[steps.to].sends.push_back(place);
    if (!steps.receives || ghost_place < 0) return;
    if (steps.from == geometry_.rank()) {
      plan_.own_sites.push_back(place);
      plan_.own_ghosts.push_back(ghost_place);
    } else {
      plan_.peers[steps.from].receives.push_back(ghost_place);
    }
  }
  HaloPlan take() { return std::move(plan_); }

 private:
  /// The members are the owner of the site at x and whether this rank receives it, the rank for which this
  /// one is that owner and whether this one sends it, and the site's coordinates on its owner.
  struct Steps {
    int from, to;
    bool receives, sends;
    Coord site;
  };
  Steps steps_to(const Coord& x) const;
  const Geometry& geometry_;
  HaloPlan plan_;
};

/// Plans the ghost blocks of an extended layout within `layers`, corners included, lane by lane. The parity
/// is that of the ghosts; -1 takes both.
HaloPlan halo_plan(const ExtendedLayout& layout, int layers, int parity = -1);

}  // namespace trellis
