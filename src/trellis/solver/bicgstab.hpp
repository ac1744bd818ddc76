#pragma once
/// BiCGStab (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631) for many right-hand sides.
#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// A x = b with any A; no guarantee of convergence: a column whose coefficients vanish begins anew from its
/// residual.
///   Traffic per iteration: 2 applies + 25 fields.
SolveReport bicgstab(const LinearOperator& A, SpinorField& x, const SpinorField& b, const BicgstabSpec& spec);

/// The recursion, in the storage of A; r0 is the residual that the run began with:
///   v = A p;  alpha = rho / <r0, v>;  s = r - alpha v;  t = A s;  omega = <t, s> / |t|^2
///   x += alpha p + omega s;  r = s - omega t;  rho' = <r0, r>;  p = r + (rho'/rho)(alpha/omega)(p - omega v)
class Bicgstab final : public KrylovMethod {
 public:
  Bicgstab(const LinearOperator& A, int rhs);
  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override;

 private:
  void half_step(SpinorField& r, SolveProgress& progress);
  void stabilise(SpinorField& x, SpinorField& r, SolveProgress& progress);
  void update_direction(const SpinorField& r, SolveProgress& progress);
  const LinearOperator& A_;
  SpinorField shadow_, direction_, product_, image_;  ///< r0, p, v, t
  ComplexCoefficients rho_, alpha_, omega_;
  Coefficients shadow2_, intermediate2_;  ///< |r0|^2, |s|^2
};

}  // namespace trellis
