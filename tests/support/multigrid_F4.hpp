#pragma once
/// This file has the system F4 of mg_gold.json with its exact low modes, and coarse spaces of it.
#include "tests/support/multigrid_fields.hpp"

namespace trellis::test {

const MultigridSystem& F4();

/// This struct holds D^-1 through the dense even-odd form, and the eigenvectors of Q = gamma5 D that it
/// gives.
struct ExactInverse {
  reference::LevelSchur schur{F4().D};
  std::vector<Eigen::Index> even;
  Eigen::PartialPivLU<DenseMatrix> lu;
  double log_determinant = 0;  // this is log |det D|

  ExactInverse();
  reference::LevelVector apply(const reference::LevelVector& b) const;
};

const ExactInverse& exact_inverse();

struct LowModes {
  std::vector<double> values;  // these are |lambda|, ascending
  std::vector<reference::LevelVector> vectors;
};

/// Returns the eight eigenvectors of Q with the smallest |lambda|: those of Q^-1 with the largest.
const LowModes& low_modes();

inline std::vector<reference::LevelVector> lowest(int count) {
  return {low_modes().vectors.begin(), low_modes().vectors.begin() + count};
}

/// This struct is the coarse space of some test vectors.
struct Coarsening {
  reference::Prolongator P;
  reference::CoarseOperator D_c;

  explicit Coarsening(const std::vector<reference::LevelVector>& vectors)
      : P(reference::Blocks(F4().D->extents(), F4().block), 12, vectors), D_c(*F4().D, P) {}

  /// Returns C v with C = 1 - P D_c^-1 P^dagger D; its adjoint is gamma5 (1 - D P D_c^-1 P^dagger) gamma5 v.
  reference::LevelVector correct(const reference::LevelVector& v) const {
    return reference::difference(v, P.prolong(solve(P.restrict(F4().D->apply(v)))));
  }
  reference::LevelVector correct_adjoint(const reference::LevelVector& v) const {
    const reference::LevelVector w = reference::gamma5_times(12, v);
    return reference::gamma5_times(12,
                                   reference::difference(w, F4().D->apply(P.prolong(solve(P.restrict(w))))));
  }
  reference::LevelMap solve = reference::exact_solver(D_c);
};

}  // namespace trellis::test
