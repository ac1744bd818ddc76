#pragma once
/// The minimal residual iteration takes many right-hand sides.
#include <optional>

#include "trellis/solver/preconditioner.hpp"

namespace trellis {

/// It computes x += relaxation (<A r, r> / |A r|^2) r, for A whose hermitian part is definite: it is a
/// smoother more than a solver.
/// The traffic of an iteration is 1 apply + 9 fields.
/// @pre 0 < relaxation < 2
struct MrSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  double relaxation = 1.0;
  bool records_history = false;
  bool fallback = true;
  int iterations = 0;
  Preconditioner preconditioner = {};
  std::vector<double> tightened = {};  ///< see SolveLimits

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

/// It iterates z = K r;  alpha = relaxation <A z, r> / |A z|^2;  x += alpha z;  r -= alpha A z.
class MinimalResidual final : public KrylovMethod {
 public:
  MinimalResidual(const LinearOperator& A, int rhs, double relaxation,
                  std::unique_ptr<ApproximateInverse> K = nullptr);
  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override;

 private:
  const LinearOperator& A_;
  double relaxation_;
  SpinorField image_;  ///< it is A z
  std::unique_ptr<ApproximateInverse> K_;
  std::optional<SpinorField> step_;  ///< it is z, with a preconditioner only
};

}  // namespace trellis
