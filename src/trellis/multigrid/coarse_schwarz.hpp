#pragma once
/// A coarse operator is decomposed on fixed boxes: the additive Schwarz method on the even-odd system solves
/// each box exactly (the outlook of P. Georg, D. Richtmann, T. Wettig, arXiv:1710.07041). Boxes lie whole on
/// a rank, so that it sends nothing and sums nothing, and they are the same on any ranks, so that its result
/// has the same bits.
#include "trellis/device/kernel_table.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/multigrid/coarse_operator.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// It has S_B^-1 for each box B, with S_B = 1 - A_e^-1 H_eo A_o^-1 H_oe of the legs that stay inside B: these
/// are dense matrices on the even sites of a box, inverted in double and kept in the storage of vectors.
class CoarseBoxes {
 public:
  /// Inverts the matrices of all boxes. Collective.
  /// @param box has the extents of a box, see coarse_box_error()
  /// @throws BadArgument: the lattice cannot be cut into such boxes; NumericError: some S_B is singular, or
  /// nearly
  CoarseBoxes(const CoarseMatrix& D, const Coord& box);

  /// Computes z_B = S_B^-1 r_B in all boxes. @pre even fields of D's vectors; z is not r
  void apply(SiteField& z, const SiteField& r) const;
  Cost cost(int columns) const;
  size_t bytes() const { return inverses_.bytes(); }
  const Coord& box() const { return box_; }
  /// Returns the largest estimate of the condition of an S_B, on any rank.
  double condition() const { return condition_; }

 private:
  int rows() const { return sites_in_box_ * 2 * vectors_; }
  Coord box_;
  int vectors_, boxes_ = 0, sites_in_box_ = 0;  ///< a box has so many even sites
  FieldSpec spec_;
  LatticePtr lattice_;
  std::vector<int32_t> places_;
  KernelTable<int32_t> sites_;
  Memory inverses_;
  double condition_ = 0;
};

/// Says why a coarse lattice cannot be cut into boxes of these extents; the answer is empty where it can: an
/// extent is 2 or another even number that divides the local extents, and a box has at most so many sites as
/// kernels have room for.
std::string coarse_box_error(const Geometry& coarse, const Coord& box, int vectors);
/// The rule takes boxes of 2 sites in each direction. They are those of the lattice alone.
inline constexpr Coord coarse_box_by_rule{2, 2, 2, 2};

/// It computes z = S_B^-1 r in all boxes, as a preconditioner inside the even-odd system of a coarse
/// operator.
struct CoarseSchwarzSpec {
  Coord box = coarse_box_by_rule;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

}  // namespace trellis
