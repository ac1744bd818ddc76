#pragma once
/// Fields move from the ranks of their lattice to few of them, and back: coarse grids have less work than all
/// ranks can share.
///
///     FieldRedistribution redistribution(field, {0, 1});   // ranks of the field's lattice
///     auto few = redistribution.make_few();                // a field on two ranks, null on others
///     redistribution.to_few(few.get(), field);
///     if (few) ...                                         // solve there
///     redistribution.to_all(field, few.get());
#include <array>
#include <memory>
#include <vector>

#include "trellis/comm/redistribution.hpp"
#include "trellis/device/kernel_table.hpp"
#include "trellis/field/cost.hpp"
#include "trellis/field/storage/site_field.hpp"

namespace trellis {

/// This stands in the place of the direction of a SentMessage whose `step` is the rank, of the lattice's
/// communicator, that gets it.
inline constexpr int to_a_rank = -1;

/// Stored numbers move as they are, with their scales in 16-bit fixed point: no bit changes. Nothing is
/// allocated after construction.
class FieldRedistribution {
 public:
  /// Serves fields of the kind of `like`: lattice, subset, storage, backend, reals, right-hand sides.
  /// few_ranks are ranks of its lattice's communicator. `few_grid` is how they cut the lattice; zeros take
  /// the grid with the least halo surface. Collective.
  ///
  /// Throws BadArgument on all ranks where few_ranks are no subset of the communicator, or their grid cannot
  /// cut the lattice.
  FieldRedistribution(const SiteField& like, const std::vector<int>& few_ranks, Coord few_grid = {});

  /// Returns the lattice on the few ranks, and null on others.
  const LatticePtr& few_lattice() const { return few_lattice_; }
  /// Makes a zero field there; returns null on other ranks.
  std::unique_ptr<SiteField> make_few() const;

  // Collective over all ranks. `few` is null on ranks that are none of the few.
  // @pre fields of the kinds that the constructor and make_few() say
  void to_few(SiteField* few, const SiteField& all);
  void to_all(SiteField& all, const SiteField* few);
  /// Returns the cost of one of them; messages and launches are those of this rank.
  Cost cost_to_few() const;
  Cost cost_to_all() const;

 private:
  /// This class lists the sites of boxes in a field's order.
  class Places {
   public:
    Places(const SiteLayout& layout, const FieldSpec& spec, const std::vector<SiteBox>& boxes);
    /// Calls f(parity, places of its sites, those before them in the message). @pre one of the boxes
    template <class F>
    void for_each_parity(const SiteBox& box, const F& f) const;
    /// Returns the launches of a kernel over all boxes.
    int launches() const;

   private:
    struct OfParity {
      std::vector<int32_t> places;
      KernelTable<int32_t> table;
    };
    Subset subset_;
    std::vector<SiteBox> boxes_;
    std::vector<std::array<OfParity, 2>> sites_;  ///< the indices are box and parity
  };
  Cost cost_of(const std::vector<Redistribution::Sent>& messages) const;
  void require_kind(const SiteField& all, const SiteField* few) const;
  void pack(const SiteField& field, const Places& places, const SiteBox& box, void* message) const;
  void unpack(SiteField& field, const Places& places, const SiteBox& box, const void* message) const;

  FieldSpec spec_;
  LatticePtr lattice_, few_lattice_;
  std::unique_ptr<Redistribution> redistribution_;
  std::unique_ptr<Places> all_places_, few_places_;  ///< the second is null on ranks that are none of the few
};

}  // namespace trellis
