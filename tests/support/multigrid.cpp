#include "tests/support/multigrid.hpp"

#include <fstream>

namespace trellis::test {

const nlohmann::json& multigrid_gold(const std::string& id) {
  static const nlohmann::json all = [] {
    std::ifstream file(data_file("mg_gold.json"));
    return nlohmann::json::parse(file);
  }();
  return all.at("values").at(id);
}

Krylov arnoldi(Eigen::Index size, const std::function<DenseVector(const DenseVector&)>& M, int steps) {
  Krylov space{DenseMatrix(size, steps), DenseMatrix::Zero(steps, steps)};
  DenseVector v = to_dense(random_level_vector(size_t(size), 98));
  for (int k = 0; k < steps; ++k) {
    space.V.col(k) = v.normalized();
    v = M(space.V.col(k));
    for (int pass = 0; pass < 2; ++pass) {
      const DenseVector c = space.V.leftCols(k + 1).adjoint() * v;
      v -= space.V.leftCols(k + 1) * c;
      space.H.col(k).head(k + 1) += c;
    }
    if (k + 1 < steps) space.H(k + 1, k) = v.norm();
  }
  return space;
}

DenseVector arnoldi_eigenvalues(Eigen::Index size, const std::function<DenseVector(const DenseVector&)>& M,
                                int steps) {
  return eigenvalues(arnoldi(size, M, steps).H);
}

}  // namespace trellis::test
