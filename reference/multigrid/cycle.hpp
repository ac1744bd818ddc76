#pragma once
/// This file has solvers of a level, the two-grid cycle and its adaptive set-up (doc/operators/multigrid.md).
/// A coarse solver may itself use a two-grid cycle of the coarse operator: then there are three levels
/// (K-cycle).
#include <functional>
#include <memory>

#include "reference/multigrid/coarse_operator.hpp"
#include "reference/multigrid/schwarz.hpp"

namespace trellis::reference {

/// It maps x = M b; M need not be linear.
using LevelMap = std::function<LevelVector(const LevelVector&)>;

/// Solves x = D^-1 b by a dense LU decomposition.
LevelMap exact_solver(const LevelOperator& D);

struct GcrSolution {
  LevelVector x;
  std::vector<double> residuals;  ///< they are the recursive |r| / |b| after each iteration
};

/// Does flexible GCR without restarts, from x = 0:
///
///   z = K(r),  w = D z made orthogonal to the earlier w (z changes along),  alpha = <w, r> / <w, w>,
///   x += alpha z,  r -= alpha w
///
/// It ends when |r| < tolerance |b|, or after max_iterations: `residuals` tells. K = 1 where none is given.
GcrSolution flexible_gcr(const LevelMap& D, const LevelVector& b, double tolerance, int max_iterations,
                         const LevelMap& K = {});

/// It is the symmetric even-odd form of a level, S = 1 - A_ee^-1 D_eo A_oo^-1 D_oe. Vectors have all sites.
class LevelSchur {
 public:
  /// @pre all extents of the level are even. Throws NumericError where A is singular on a site.
  explicit LevelSchur(LevelOperatorPtr D);

  LevelVector apply(const LevelVector& v) const;   ///< it returns S v_e
  LevelVector source(const LevelVector& b) const;  ///< it returns A_ee^-1 (b_e - D_eo A_oo^-1 b_o)
  /// it returns x_e + A_oo^-1 (b_o - D_oe x_e)
  LevelVector solution(const LevelVector& x, const LevelVector& b) const;

 private:
  LevelVector hop(const LevelVector& v) const;  // it returns (D - A) v
  LevelVector self_inverse(const LevelVector& v) const;

  LevelOperatorPtr D_;
  std::vector<Matrix> inverse_;
};

/// It changes x towards the solution of D x = b.
using Smoother = std::function<void(LevelVector& x, const LevelVector& b)>;
Smoother schwarz_smoother(std::shared_ptr<const Schwarz> schwarz, int cycles);

/// It makes the solver of a coarse operator, which the cycle calls.
using CoarseSolver = std::function<LevelMap(std::shared_ptr<const CoarseOperator>)>;
CoarseSolver exact_coarse_solver();
/// Solves by GCR on the even-odd form of D_c to a relative residual.
CoarseSolver gcr_coarse_solver(double tolerance, int max_iterations);

/// It is the cycle K(r): x = P x_c with D_c x_c ~ P^dagger r, then the smoother on D x = r from that x.
class TwoGrid {
 public:
  TwoGrid(LevelOperatorPtr D, const Coord& aggregate, std::vector<LevelVector> test_vectors,
          Smoother smoother, CoarseSolver coarse_solver = exact_coarse_solver());

  LevelVector cycle(const LevelVector& r) const;              ///< it returns K(r)
  LevelVector coarse_correction(const LevelVector& r) const;  ///< it returns P D_c^-1 P^dagger r

  const Prolongator& prolongator() const { return P_; }
  const CoarseOperator& coarse() const { return *coarse_; }
  const std::vector<LevelVector>& test_vectors() const { return test_vectors_; }

  /// Makes one sweep of the set-up: the test vectors are made orthonormal as fields, each goes through the
  /// present cycle and is normalised; P and D_c are those of the new vectors.
  TwoGrid after_sweep() const;

 private:
  LevelOperatorPtr D_;
  std::vector<LevelVector> test_vectors_;
  Prolongator P_;
  std::shared_ptr<const CoarseOperator> coarse_;
  Smoother smoother_;
  CoarseSolver make_solver_;
  LevelMap solve_coarse_;
};

/// Returns the first test vectors: three passes v <- (x of D x = v after 1, 2, 3 cycles from 0) make them,
/// and they are normalised.
std::vector<LevelVector> initial_test_vectors(const Schwarz& schwarz, std::vector<LevelVector> random);

}  // namespace trellis::reference
