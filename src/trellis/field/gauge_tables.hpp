#pragma once
/// What kernels of a backend need of the site order of gauge fields, and on a GPU the exchanges of their
/// halos: shared by all fields of a lattice with that order.
#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/halo_messages.hpp"
#include "trellis/lattice/extended_layout.hpp"
#include "trellis/view/gauge_view.hpp"

namespace trellis {

class GaugeTables {
 public:
  /// @pre for Backend::cuda a layout with one lane
  GaugeTables(ExtendedLayoutPtr layout, Backend backend);

  Backend backend() const { return backend_; }
  const ExtendedLayoutPtr& layout() const { return layout_; }
  /// Blocks in memory: on a GPU whole warps.
  int stored_blocks() const;
  ExtendedTables views() const;
  SiteRange inner() const { return site_range(inner_); }
  SiteRange inner(int parity) const { return site_range(inner_of_[parity]); }

  /// What an exchange moves: layers of the halo in direction mu, of which directions' links, of which sites.
  struct HaloPart {
    int mu, layers, first_link, links;
    int parity;  ///< -1: both
    auto operator<=>(const HaloPart&) const = default;
  };
  /// On a GPU: fills the ghosts of links. Collective.
  void exchange(const RawField& links, const HaloPart& part, Communicator& communicator) const;

 private:
  /// Blocks that are sent to the rank behind (0) and ahead (1), and the ghosts that come from ahead and
  /// behind.
  struct Faces {
    KernelTable<int32_t> sources[2], ghosts[2];
    int numbers[2];
    std::unique_ptr<HaloMessages> messages;
  };
  Faces& faces(const HaloPart& part, Communicator& communicator) const;
  ExtendedLayoutPtr layout_;
  Backend backend_;
  KernelTable<int32_t> neighbours_, inner_, inner_of_[2];
  mutable std::mutex mutex_;
  mutable std::map<HaloPart, Faces> faces_;
};

using GaugeTablesPtr = std::shared_ptr<const GaugeTables>;

/// f(step, ghost, source, layer), in sub-lattice coordinates, for the ghosts of a direction in the order of
/// the messages: step +1 before -1, layers counted away from the edge. Directions below part.mu are done
/// already, their halos are sent along.
template <class F>
void for_each_ghost(const ExtendedLayout& layout, const GaugeTables::HaloPart& part, const F& f) {
  const Geometry& geometry = layout.geometry();
  const int l = layout.sub_extents()[part.mu];
  Coord begin{}, end{};
  for (int nu = 0; nu < Nd; ++nu) {
    const int halo = nu < part.mu && geometry.is_split(nu) ? part.layers : 0;
    begin[nu] = nu == part.mu ? 0 : -halo;
    end[nu] = nu == part.mu ? part.layers : layout.sub_extents()[nu] + halo;
  }
  // The site of a ghost of layer k has the parity of the coordinate k, or -1 - k: l is even.
  const auto is_wanted = [&](int step, const Coord& x) {
    return part.parity < 0 || ((x[0] + x[1] + x[2] + x[3] + (step > 0 ? 0 : 1)) & 1) == part.parity;
  };
  for (int step = 1; step >= -1; step -= 2) {
    Coord x;
    for (x[3] = begin[3]; x[3] < end[3]; ++x[3])
      for (x[2] = begin[2]; x[2] < end[2]; ++x[2])
        for (x[1] = begin[1]; x[1] < end[1]; ++x[1])
          for (x[0] = begin[0]; x[0] < end[0]; ++x[0]) {
            if (!is_wanted(step, x)) continue;
            Coord ghost = x;
            ghost[part.mu] = step > 0 ? l + x[part.mu] : -1 - x[part.mu];
            f(step, ghost, x);
          }
  }
}

}  // namespace trellis
