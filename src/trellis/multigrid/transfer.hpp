#pragma once
/// A cycle asks this of the prolongator between a level and the next one.
#include "trellis/field/cost.hpp"

namespace trellis {

class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Computes coarse = P^dagger fine, and prolong_to() fine = P coarse.
  virtual void restrict_to(SiteField& coarse, const SiteField& fine) const = 0;
  virtual void prolong_to(SiteField& fine, const SiteField& coarse) const = 0;
  /// Makes a zero field of the next level.
  virtual SiteField make_coarse_field(int rhs) const = 0;
  /// Returns the cost of one P^dagger and one P.
  virtual Cost transfer_cost(int columns) const = 0;
  virtual int vectors() const = 0;
  /// Returns the sites of an aggregate in x, y, z, t.
  virtual const Coord& block() const = 0;
  virtual size_t bytes() const = 0;
};

}  // namespace trellis
