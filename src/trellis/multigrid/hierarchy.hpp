#pragma once
/// A hierarchy has the levels of a multigrid below the finest one.
#include <memory>
#include <vector>

#include "trellis/multigrid/coarse_operator.hpp"
#include "trellis/multigrid/coarse_prolongator.hpp"
#include "trellis/multigrid/gathering.hpp"
#include "trellis/multigrid/prolongator.hpp"

namespace trellis {

/// It has a prolongator between coarse lattices, and the matrices of the lower one.
struct CoarserLevel {
  std::shared_ptr<const CoarseProlongator> prolongator;
  CoarseMatrixPtr matrix;
};

struct MultigridHierarchy {
  std::shared_ptr<const Prolongator> prolongator;  ///< it goes between the finest lattice and the second
  CoarseMatrixPtr second;                          ///< they are the matrices of the second lattice
  std::vector<CoarserLevel> coarser;               ///< they are the third lattice and those below
  /// These few ranks have the matrices of the coarsest level, which are null on the others; null means all
  /// ranks.
  CoarseGatheringPtr gathering = nullptr;

  int levels() const { return 2 + int(coarser.size()); }
  /// Returns the transfer of the level, which is not the coarsest.
  const Transfer& transfer(int level) const {
    if (level == 0) return *prolongator;
    return *coarser[size_t(level) - 1].prolongator;
  }
  /// Returns the matrices of the level, which is not the finest.
  const CoarseMatrixPtr& matrix(int level) const {
    return level == 1 ? second : coarser[size_t(level) - 2].matrix;
  }
  /// Returns the lattice of any level.
  LatticePtr lattice(int level) const;
  /// Returns the operator as solvers apply it, with these matrices of the level, which is not the finest.
  LinearOperatorPtr operator_of(int level, const CoarseMatrixPtr& matrix) const;
  /// Returns the hierarchy with other masses: P stays, and all matrices are shifted, exactly.
  MultigridHierarchy shifted(double mass, double twist) const;
  size_t bytes() const;
};

}  // namespace trellis
