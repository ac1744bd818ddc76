#pragma once
/// All shifts of a multi-shift solver share this recursion (B. Jegerlehner, hep-lat/9612014).
#include <algorithm>
#include <vector>

#include "trellis/field/shift_updates.hpp"
#include "trellis/solver/krylov_method.hpp"

namespace trellis {

/// This is the common recursion. With s the distance to the smallest shift and zeta r the residual of a
/// shift,
///   zeta' / zeta = 1 / (1 + s alpha + (alpha beta / alpha_before) (1 - zeta / zeta_before)).
/// The field kept for a shift is its direction over zeta, so that one fused update serves all:
///   x += (alpha zeta') p;  p = r' + (beta' zeta' / zeta) p
/// The smallest shift is updated at once, the others every fourth iteration: four residuals are kept.
class SharedKrylovSpace {
 public:
  /// Begins in the storage of A and b. Every shift has to reach `claimed` by the recursion.
  SharedKrylovSpace(const LinearOperatorPtr& A, const std::vector<double>& shifts, const SpinorField& b,
                    double claimed, int max_iterations, bool records_history);
  /// Returns false where the iterations ran out. @pre x[k] are zero
  bool iterate(std::vector<SpinorField>& x);
  bool source_is_zero() const {
    return std::all_of(norm2_.begin(), norm2_.end(), [](double n) { return n == 0; });
  }
  double mean_active_shifts() const { return iterations_ > 0 ? double(updated_) / iterations_ : 0.0; }
  SolveProgress progress;

 private:
  struct Shift {
    double distance;
    Coefficients zeta, ratio;  ///< a right-hand side has zeta and zeta / zeta_before
    std::vector<bool> is_done;
    std::vector<ShiftStep> pending;  ///< steps of x and p that were not yet taken
    bool is_active;
  };
  bool step(std::vector<SpinorField>& x);
  void step_lengths();
  bool advance(Shift& shift, ShiftStep& step, const Coefficients& next_beta);
  void take_pending_steps(std::vector<SpinorField>& x);

  LinearOperatorPtr base_;  ///< it is A, or A + the smallest shift where that is an operator of its own
  double base_shift_;       ///< base_ lacks this
  size_t base_index_;
  std::vector<Shift> shifts_;
  std::vector<SpinorField> directions_;
  static constexpr int iterations_at_a_time = 4;  ///< the larger shifts take so many updates together
  std::vector<SpinorField> residuals_;            ///< these are the last ones, in turn
  SpinorField product_;
  int now_ = 0;  ///< residuals_[now_] is r
  int pending_ = 0, iterations_ = 0;
  int64_t updated_ = 0;
  Coefficients norm2_, residual2_, alpha_, alpha_before_, beta_;
};

}  // namespace trellis
