#pragma once
/// Tests alone take dense matrices of small operators, and extreme eigenvalues by Lanczos.
#include <Eigen/Dense>
#include <functional>

#include "reference/staggered.hpp"
#include "reference/wilson.hpp"

// This and the eigensolvers below cost a compiler seconds: they are compiled once for all tests.
extern template class Eigen::PartialPivLU<Eigen::MatrixXcd>;

namespace trellis::test {

using DenseMatrix = Eigen::MatrixXcd;
using DenseVector = Eigen::VectorXcd;

/// A component is 12 site + 3 spin + colour.
DenseVector to_dense(const reference::SpinorVector& v);
reference::SpinorVector to_spinors(const DenseVector& v);
/// A component is 3 site + colour.
DenseVector to_dense(const reference::ColorVectors& v);
reference::ColorVectors to_colour_vectors(const DenseVector& v);

/// Returns the matrix of a linear operator, column by column.
DenseMatrix dense_matrix(int size, const std::function<DenseVector(const DenseVector&)>& M);

/// Returns the sum of log |pivot| of an LU factorisation.
double log_abs_determinant(const Eigen::PartialPivLU<DenseMatrix>& lu);

/// The values are ascending; column k of `vectors` belongs to value k.
struct HermitianEigen {
  Eigen::VectorXd values;
  DenseMatrix vectors;
};
HermitianEigen hermitian_eigen(const DenseMatrix& H);
Eigen::VectorXd hermitian_eigenvalues(const DenseMatrix& H);

/// Returns the eigenvalues of any matrix, in any order.
DenseVector eigenvalues(const DenseMatrix& M);

/// Returns eigenvalues of a hermitian operator after `steps` Lanczos steps with full reorthogonalisation,
/// ascending; the extreme ones converge first.
Eigen::VectorXd lanczos_eigenvalues(int size, const std::function<DenseVector(const DenseVector&)>& H,
                                    int steps);

}  // namespace trellis::test
