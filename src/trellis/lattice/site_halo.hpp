#pragma once
/// Ghost sites of an even-odd layout are found by their coordinates: they lie around this rank's sites, in
/// steps of the lattice. Whoever reads neighbours asks here and needs to know neither ranks nor messages.
#include <memory>

#include "trellis/lattice/halo_plan.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

/// The shape says how far a halo reaches, and whether it has the sites that lie beyond more than one face.
struct HaloShape {
  int width = 1;
  bool corners = false;
};

class SiteHalo {
 public:
  /// Ghosts lie beyond the faces where ranks split the lattice, and beyond walls; a direction that is not
  /// split leads back to this rank. A parity other than -1 takes ghosts of that one only, for fields of it;
  /// -1 takes both.
  /// @pre width 1, 2 or 3
  SiteHalo(SiteLayoutPtr layout, HaloShape shape, int parity = -1);

  const SiteLayoutPtr& layout_ptr() const { return layout_; }
  const SiteLayout& layout() const { return *layout_; }
  HaloShape shape() const { return shape_; }
  int parity() const { return parity_; }
  int ghosts() const { return int(coords_.size()); }
  /// Returns the local coordinates of a ghost, of which some are beyond the local extents.
  const Coord& coord(int ghost) const { return coords_[size_t(ghost)]; }

  enum class Kind { inner, ghost, none };
  /// This is a site of this rank, or a ghost, which is zero where it is a wall, or none, beyond an open edge.
  struct Site {
    Kind kind = Kind::none;
    SitePosition at{0, 0, 0};  ///< an inner site has this position
    int ghost = -1;            ///< a ghost has this number
  };
  /// Returns the site at local coordinates. Throws BadArgument for those that the halo does not reach.
  Site find(Coord local) const;

  /// Returns, for kernels, a table [block][lane] of one parity. An entry says what lies at a displacement, as
  /// place << 1 | is_ghost, or -1 where there is nothing; place = block * lanes + lane of the other (or same)
  /// parity's array, or of the ghosts, which lie in blocks as the field's sites do.
  std::vector<int32_t> neighbours(int parity, const Coord& displacement) const;

  const HaloPlan& plan() const { return plan_; }

 private:
  bool is_ghost(const Coord& x) const;
  bool leads_out(int mu, int x) const { return x < 0 || x >= layout_->geometry().local()[mu]; }
  std::vector<Coord> sites_around() const;
  int32_t& number_at(Coord x);
  void build();

  SiteLayoutPtr layout_;
  HaloShape shape_;
  int parity_;
  Coord halo_, extended_;
  std::vector<int32_t>
      numbers_;  ///< each place in the box with the halo has the number of the ghost there, or -1
  std::vector<Coord> coords_;
  HaloPlan plan_;
};

using SiteHaloPtr = std::shared_ptr<const SiteHalo>;

}  // namespace trellis
