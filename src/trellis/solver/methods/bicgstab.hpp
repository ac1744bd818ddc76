#pragma once
/// BiCGStab (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631) solves for many right-hand sides.
#include <optional>

#include "trellis/solver/preconditioner.hpp"

namespace trellis {

/// It solves A x = b with any A, and nothing guarantees that it converges: a column whose coefficients vanish
/// begins anew from its residual.
/// The traffic of an iteration is 2 applies + 25 fields.
struct BicgstabSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  bool records_history = false;
  bool fallback = true;
  int iterations = 0;
  Preconditioner preconditioner = {};
  std::vector<double> tightened = {};  ///< see SolveLimits

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

/// This is the recursion, in the storage of A; r0 is the residual that the run began with, and K is the
/// preconditioner (from the right, and it may be another one each time):
///   v = A K p;  alpha = rho / <r0, v>;  s = r - alpha v;  t = A K s;  omega = <t, s> / |t|^2
///   x += alpha K p + omega K s;  r = s - omega t;  rho' = <r0, r>
///   p = r + (rho'/rho)(alpha/omega)(p - omega v)
class Bicgstab final : public KrylovMethod {
 public:
  Bicgstab(const LinearOperator& A, int rhs, std::unique_ptr<ApproximateInverse> K = nullptr);
  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override;

 private:
  void half_step(SpinorField& r, SolveProgress& progress);
  void stabilise(SpinorField& x, SpinorField& r, SolveProgress& progress);
  void update_direction(const SpinorField& r, SolveProgress& progress);
  const LinearOperator& A_;
  SpinorField shadow_, direction_, product_, image_;  ///< they are r0, p, v and t
  std::unique_ptr<ApproximateInverse> K_;
  std::optional<SpinorField> K_direction_, K_residual_;  ///< they are K p and K s
  ComplexCoefficients rho_, alpha_, omega_;
  Coefficients shadow2_, intermediate2_;  ///< they are |r0|^2 and |s|^2
};

}  // namespace trellis
