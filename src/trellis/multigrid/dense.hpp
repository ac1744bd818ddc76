#pragma once
/// The set-up needs dense complex matrices of one site of a coarse lattice, in double.
#include "trellis/solver/eigen/hermitian_matrix.hpp"

namespace trellis {

/// It has R^-1 of a hermitian positive G = R^dagger R, R being upper triangular with a positive diagonal, and
/// the least R_jj^2 / G_jj: columns of V with V^dagger V = G are orthonormal as V R^-1.
struct TriangularFactor {
  DenseMatrix inverse;
  double least_pivot = 1;  ///< where it is not positive, columns depend on each other, and `inverse` is not
                           ///< whole
};
TriangularFactor inverse_of_cholesky_factor(const DenseMatrix& G);

/// Returns R_jj^2 / G_jj for each j, where columns with no more than `least` do not count for the later ones;
/// it is 0 for a column that vanishes.
std::vector<double> independent_parts(const DenseMatrix& G, double least);

/// It has A^-1 by elimination with row pivots, and the largest |element| of both multiplied, which estimates
/// the condition.
struct DenseInverse {
  DenseMatrix inverse;
  double condition = 0;  ///< it is infinite where A is singular
};
DenseInverse inverse_of(const DenseMatrix& A);

}  // namespace trellis
