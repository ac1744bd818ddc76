#pragma once
/// This file has the system F4 of mg_gold.json with its exact low modes, and coarse spaces of it.
#include <algorithm>
#include <numeric>

#include "tests/support/multigrid_fields.hpp"

namespace trellis::test {

inline const MultigridSystem& F4() {
  static const MultigridSystem system(field_F4(), {2, 2, 2, 2});
  return system;
}

/// This struct holds D^-1 through the dense even-odd form, and the eigenvectors of Q = gamma5 D that it
/// gives.
struct ExactInverse {
  reference::LevelSchur schur{F4().D};
  std::vector<Eigen::Index> even;
  Eigen::PartialPivLU<DenseMatrix> lu;
  double log_determinant = 0;  // this is log |det D|

  ExactInverse() {
    const reference::LevelOperator& D = *F4().D;
    for (int64_t x = 0; x < D.volume(); ++x) {
      log_determinant += reference::LU(D.self_matrix(x)).log_abs_determinant();
      if (site_parity(site_coord(x, D.extents())) == 0)
        for (int i = 0; i < 12; ++i) even.push_back(12 * x + i);
    }
    lu.compute(dense_matrix(int(even.size()), [&](const DenseVector& v) {
      DenseVector full = DenseVector::Zero(Eigen::Index(D.size()));
      full(even) = v;
      return DenseVector(to_dense(schur.apply(to_level(full)))(even));
    }));
    log_determinant += log_abs_determinant(lu);
  }

  reference::LevelVector apply(const reference::LevelVector& b) const {
    DenseVector x = to_dense(schur.source(b));
    x(even) = DenseVector(lu.solve(DenseVector(x(even))));
    return schur.solution(to_level(x), b);
  }
};

inline const ExactInverse& exact_inverse() {
  static const ExactInverse inverse;
  return inverse;
}

struct LowModes {
  std::vector<double> values;  // these are |lambda|, ascending
  std::vector<reference::LevelVector> vectors;
};

/// Returns the eight eigenvectors of Q with the smallest |lambda|: those of Q^-1 with the largest.
inline const LowModes& low_modes() {
  static const LowModes modes = [] {
    const auto space = arnoldi(
        Eigen::Index(F4().D->size()),
        [](const DenseVector& v) {
          return to_dense(exact_inverse().apply(reference::gamma5_times(12, to_level(v))));
        },
        160);
    const DenseMatrix hermitian = (space.H + space.H.adjoint()) / 2;
    const Eigen::SelfAdjointEigenSolver<DenseMatrix> solver(hermitian);
    std::vector<Eigen::Index> order(size_t(hermitian.rows()));
    std::iota(order.begin(), order.end(), 0);
    const Eigen::VectorXd size = solver.eigenvalues().cwiseAbs();
    std::sort(order.begin(), order.end(), [&](Eigen::Index i, Eigen::Index j) { return size[i] > size[j]; });
    LowModes found;
    for (size_t k = 0; k < 8; ++k) {
      found.values.push_back(1 / size[order[k]]);
      found.vectors.push_back(to_level(space.V * solver.eigenvectors().col(order[k])));
    }
    return found;
  }();
  return modes;
}

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
