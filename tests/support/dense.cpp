#include "tests/support/dense.hpp"

#include "tests/support/random_fields.hpp"

template class Eigen::PartialPivLU<Eigen::MatrixXcd>;

namespace trellis::test {

DenseVector to_dense(const reference::SpinorVector& v) {
  DenseVector d(12 * Eigen::Index(v.size()));
  for (size_t x = 0; x < v.size(); ++x)
    for (int i = 0; i < 12; ++i) d[12 * Eigen::Index(x) + i] = reference::to_std(v[x].s[i / 3].c[i % 3]);
  return d;
}

reference::SpinorVector to_spinors(const DenseVector& d) {
  reference::SpinorVector v = reference::zero_spinors(d.size() / 12);
  for (size_t x = 0; x < v.size(); ++x)
    for (int i = 0; i < 12; ++i) v[x].s[i / 3].c[i % 3] = reference::to_complex(d[12 * Eigen::Index(x) + i]);
  return v;
}

DenseVector to_dense(const reference::ColorVectors& v) {
  DenseVector d(3 * Eigen::Index(v.size()));
  for (size_t x = 0; x < v.size(); ++x)
    for (int i = 0; i < 3; ++i) d[3 * Eigen::Index(x) + i] = reference::to_std(v[x].c[i]);
  return d;
}

reference::ColorVectors to_colour_vectors(const DenseVector& d) {
  reference::ColorVectors v(size_t(d.size() / 3));
  for (size_t x = 0; x < v.size(); ++x)
    for (int i = 0; i < 3; ++i) v[x].c[i] = reference::to_complex(d[3 * Eigen::Index(x) + i]);
  return v;
}

DenseMatrix dense_matrix(int size, const std::function<DenseVector(const DenseVector&)>& M) {
  DenseMatrix A(size, size);
  for (int column = 0; column < size; ++column) A.col(column) = M(DenseVector::Unit(size, column));
  return A;
}

double log_abs_determinant(const Eigen::PartialPivLU<DenseMatrix>& lu) {
  double sum = 0;
  for (Eigen::Index i = 0; i < lu.rows(); ++i) sum += std::log(std::abs(lu.matrixLU()(i, i)));
  return sum;
}

HermitianEigen hermitian_eigen(const DenseMatrix& H) {
  const Eigen::SelfAdjointEigenSolver<DenseMatrix> solver(H);
  return {solver.eigenvalues(), solver.eigenvectors()};
}
Eigen::VectorXd hermitian_eigenvalues(const DenseMatrix& H) {
  return Eigen::SelfAdjointEigenSolver<DenseMatrix>(H, Eigen::EigenvaluesOnly).eigenvalues();
}
DenseVector eigenvalues(const DenseMatrix& M) {
  return Eigen::ComplexEigenSolver<DenseMatrix>(M, false).eigenvalues();
}

Eigen::VectorXd lanczos_eigenvalues(int size, const std::function<DenseVector(const DenseVector&)>& H,
                                    int steps) {
  Random random(99);
  DenseMatrix Q(size, steps);
  Eigen::VectorXd diagonal(steps), off_diagonal(steps - 1);
  DenseVector q(size);
  for (Eigen::Index i = 0; i < size; ++i) q[i] = reference::to_std(random.complex());
  for (int k = 0; k < steps; ++k) {
    Q.col(k) = q.normalized();
    q = H(Q.col(k));
    diagonal[k] = Q.col(k).dot(q).real();
    for (int repeat = 0; repeat < 2; ++repeat) q -= Q.leftCols(k + 1) * (Q.leftCols(k + 1).adjoint() * q);
    if (k + 1 < steps) off_diagonal[k] = q.norm();
  }
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, off_diagonal, Eigen::EigenvaluesOnly);
  return solver.eigenvalues();
}

}  // namespace trellis::test
