#include "tests/support/multigrid_F4.hpp"

#include <algorithm>
#include <numeric>

namespace trellis::test {

const MultigridSystem& F4() {
  static const MultigridSystem system(field_F4(), {2, 2, 2, 2});
  return system;
}

ExactInverse::ExactInverse() {
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

reference::LevelVector ExactInverse::apply(const reference::LevelVector& b) const {
  DenseVector x = to_dense(schur.source(b));
  x(even) = DenseVector(lu.solve(DenseVector(x(even))));
  return schur.solution(to_level(x), b);
}

const ExactInverse& exact_inverse() {
  static const ExactInverse inverse;
  return inverse;
}

const LowModes& low_modes() {
  static const LowModes modes = [] {
    const auto space = arnoldi(
        Eigen::Index(F4().D->size()),
        [](const DenseVector& v) {
          return to_dense(exact_inverse().apply(reference::gamma5_times(12, to_level(v))));
        },
        160);
    const HermitianEigen eigen = hermitian_eigen((space.H + space.H.adjoint()) / 2);
    std::vector<Eigen::Index> order(size_t(eigen.values.size()));
    std::iota(order.begin(), order.end(), 0);
    const Eigen::VectorXd size = eigen.values.cwiseAbs();
    std::sort(order.begin(), order.end(), [&](Eigen::Index i, Eigen::Index j) { return size[i] > size[j]; });
    LowModes found;
    for (size_t k = 0; k < 8; ++k) {
      found.values.push_back(1 / size[order[k]]);
      found.vectors.push_back(to_level(space.V * eigen.vectors.col(order[k])));
    }
    return found;
  }();
  return modes;
}

}  // namespace trellis::test
