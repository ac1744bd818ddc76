#pragma once
/// Solves of A x = b, A = S^dagger S with the asymmetric even-odd Wilson operator S, by the factors of A with
/// multigrid, which stands on all sites:
///
///   S^dagger y = b   y is the even part of M^-dagger (b, 0), M(mu)^dagger = gamma5 M(-mu) gamma5
///   S x = y          x is the even part of M^-1 (y, 0)
///
/// Along a trajectory multigrid follows the links by rule. It is set up from noise at the first links that
/// are solved on. Where the molecular-dynamics time passes a multiple of `refresh`, its test vectors are
/// improved by one sweep, and D_c is made of the links there; in between only smoother and residuals follow
/// (a new D_c with old vectors is worse than the old one). So all depends on the links of the trajectory
/// alone, and a chain that is resumed has the bits of one that never stopped.
#include <optional>

#include "trellis/multigrid/multigrid.hpp"
#include "trellis/update/squared_operator.hpp"

namespace trellis {

struct FactorSolverParams {
  MultigridParams multigrid;
  double refresh = 0.2;  ///< molecular-dynamics time between two sweeps
  /// Of a solve of M x = b, beyond which multigrid counts as stuck.
  int max_iterations = 200;
};

class FactorSolver {
 public:
  /// @pre refresh > 0, max_iterations > 0
  explicit FactorSolver(const FactorSolverParams& params);

  /// The next solve makes the test vectors from noise. Collective.
  void begin_trajectory();

  /// From x = 0, until |b - A x| <= tolerance |b| in double. Where multigrid gets stuck, it is made anew once
  /// from noise; where it gets stuck again, or cannot be made, nothing is returned, here and for the rest of
  /// the trajectory: the caller takes conjugate gradients then. Collective.
  /// @param A S^dagger S of `matrix`
  /// @param version of the links: a number for every new set
  std::optional<SolveReport> solve(const LinearOperator& A, const WilsonMatrixPtr& matrix, int64_t version,
                                   SpinorField& x, const SpinorField& b, const FactorSolve& how);

 private:
  /// It is M of one sign of mu, with what solvers make of it.
  struct System {
    OperatorCopies M;
    MultigridPtr multigrid;
  };
  void follow(const WilsonMatrixPtr& matrix, int64_t version, const FactorSolve& how);
  void make_systems(const WilsonMatrixPtr& matrix);
  void set_up(const WilsonMatrixPtr& matrix, const FactorSolve& how);
  SolveReport solve_normal(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                           const FactorSolve& how);
  /// out = the even part of M^-1 (b, 0), or of M^-dagger (b, 0); false where multigrid is stuck. Adds to the
  /// report.
  bool solve_factor(SpinorField& out, const SpinorField& b, bool is_dagger, double tolerance,
                    SolveReport& report);
  FactorSolverParams params_;
  MultigridPtr multigrid_;
  std::optional<System> plus_, minus_;  ///< minus_: with a twisted mass alone
  int64_t version_ = -1;                ///< of the links of multigrid_
  int64_t interval_ = 0;                ///< of molecular-dynamics time in which multigrid_ was improved last
  bool is_new_ = false;                 ///< made from noise for these links
  bool has_given_up_ = false;
  Cost setup_cost_;
};

}  // namespace trellis
