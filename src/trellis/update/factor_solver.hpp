#pragma once
/// A x = b, A = S^dagger S with the asymmetric even-odd Wilson operator S, is solved by the factors of A with
/// multigrid, which stands on all sites:
///
///   S^dagger y = b   y is the even part of M^-dagger (b, 0), M(mu)^dagger = gamma5 M(-mu) gamma5
///   S x = y          x is the even part of M^-1 (y, 0)
///
/// Without a twisted mass A + rho^2 has the factors S +- i rho gamma5, those of M +- i rho gamma5 on the even
/// sites (operator/even_twist.hpp). Its preconditioner is the cycle of the twisted mass +- rho / 2 on all
/// sites: the same for low modes, which live on both parities alike, and near to it for all others. One
/// multigrid serves all shifts, and test vectors are improved at rho = 0 alone.
///
/// Along a trajectory multigrid follows the links by rule. It is set up from noise at the first links that
/// are solved on. Where the molecular-dynamics time passes a multiple of `refresh`, its test vectors are
/// improved by one cycle, and P and D_c are made anew; in between only smoother and residuals follow (a new
/// D_c with old vectors is worse than the old one). So all depends on the links of the trajectory alone, and
/// a chain that is resumed has the bits of one that never stopped.
#include <map>
#include <optional>
#include <utility>

#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/update/squared_operator.hpp"

namespace trellis {

struct FactorSolverParams {
  MultigridParams multigrid;
  double refresh = 0.2;  ///< it is the molecular-dynamics time between two refreshes
  /// Shifts rho^2 reach this rho. Conjugate gradients take A + rho^2 faster beyond: some 30 / rho iterations.
  double largest_rho = 0.1;
  /// A solve of M x = b takes at most so many, beyond which multigrid counts as stuck.
  int max_iterations = 200;
};

class FactorSolver {
 public:
  /// @pre refresh > 0, max_iterations > 0
  explicit FactorSolver(const FactorSolverParams& params);

  /// Makes the next solve take test vectors from noise, unless they are those of noise at these links:
  /// several monomials of a trajectory share them. Collective.
  /// @param version is that of the links
  void begin_trajectory(int64_t version);
  /// Says whether it solves A + shift.
  bool serves(const WilsonParams& params, double shift) const;

  /// Solves from x = 0, until |b - A x| <= tolerance |b| in double. Where multigrid gets stuck, it is made
  /// anew once from noise; where it gets stuck again, or cannot be made, nothing is returned, here and for
  /// the rest of the trajectory: the caller takes conjugate gradients then. Collective.
  /// @param A is S^dagger S of `matrix`, with the shift of `how`
  /// @param version is that of the links: a number for every new set
  std::optional<SolveReport> solve(const LinearOperator& A, const WilsonMatrixPtr& matrix, int64_t version,
                                   SpinorField& x, const SpinorField& b, const FactorSolve& how);

 private:
  /// It is M + i rho gamma5 of one sign of mu and rho, with what solvers make of it.
  struct System {
    OperatorCopies M;
    SolverSpec solver;
  };
  void follow(const WilsonMatrixPtr& matrix, int64_t version, const FactorSolve& how);
  const System& system(const WilsonMatrixPtr& matrix, double rho, bool is_dagger);
  System with_twist(const WilsonMatrixPtr& matrix, double rho) const;
  void set_up(const WilsonMatrixPtr& matrix, const FactorSolve& how);
  SolveReport solve_normal(const LinearOperator& A, const WilsonMatrixPtr& matrix, SpinorField& x,
                           const SpinorField& b, const FactorSolve& how);
  /// Computes out = the even part of M^-1 (b, 0), or of M^-dagger (b, 0); returns false where multigrid is
  /// stuck. Adds to the report.
  bool solve_factor(const System& system, SpinorField& out, const SpinorField& b, bool is_dagger,
                    double tolerance, SolveReport& report);
  FactorSolverParams params_;
  MultigridPtr multigrid_;
  /// Systems are kept by rho and sign; the sign matters where there is a mass mu or rho.
  std::map<std::pair<double, bool>, System> systems_;
  int64_t version_ = -1;  ///< multigrid_ belongs to these links
  int64_t interval_ = 0;  ///< multigrid_ was improved last in this interval of molecular-dynamics time
  bool is_new_ = false;   ///< it was made from noise for these links
  bool has_given_up_ = false;
  Cost setup_cost_;
};

}  // namespace trellis
