#pragma once
/// This is the inside of a solver: a method reduces the residuals that residual_correction.hpp hands to it,
/// in whatever storage its operator has, and never judges convergence itself.
#include <cmath>
#include <complex>
#include <optional>
#include <vector>

#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/solve_report.hpp"
#include "trellis/solver/stagnation.hpp"

namespace trellis {

/// Numbers of fp16 are best where they are about 1: residuals get this norm there.
inline constexpr double fp16_norm = 256;
/// Says whether float storage can take a coefficient.
inline bool is_usable(std::complex<double> c) {
  return std::isfinite(float(c.real())) && std::isfinite(float(c.imag()));
}
/// Returns -values, for the `r -= alpha q` of every recursion.
template <class Values>
Values negative(Values values) {
  for (auto& v : values) v = -v;
  return values;
}

/// It holds what a solve has cost so far.
struct SolveCost : Cost {
  void add_applications(const LinearOperator& A, int columns, int count);
  void add_dagger_applications(const LinearOperator& A, int columns, int count);
  /// Adds `fields` reads and writes of a field like `f` and `flops_per_real` operations on each of its reals,
  /// in so many launches for each parity, with so many global sums.
  void add_linear_algebra(const SpinorField& f, double fields, double flops_per_real, int launches, int sums);
  /// Adds the norms of a field like `f` by norm_each(), which looks again at fields with columns that vanish.
  void add_norms(const SpinorField& f, const Coefficients& norms);
};

/// It is one right-hand side on its way; residuals are in the units of the run.
struct SolveColumn {
  double unit2 = 1;        ///< this run measures |r|^2 in this unit, itself in units of |b|^2
  double target2 = 0;      ///< this run may pause the column once |r|^2 is down to this
  double start2 = 0;       ///< |r|^2 was this when this run began
  double residual2 = 0;    ///< the recursion says this of |r|^2
  double largest2 = 0;     ///< this is the largest |r|^2 since this run began
  int iterations = 0;      ///< all runs together took so many
  bool is_active = false;  ///< it iterates; inactive columns have zero coefficients and keep their bits
  bool failed = false;     ///< this run ended with `failure`
  bool is_stuck = false;   ///< it goes nowhere and gets no further run
  ResidualRecord record;
  StopReason failure = StopReason::converged;
};

/// This has all right-hand sides of a solve, and the rules by which they stop.
class SolveProgress {
 public:
  /// Begins a solve; with `tolerance` and `rule` columns that are stuck (stagnation.hpp) stop.
  SolveProgress(int rhs, int max_iterations, bool records_history, double tolerance = 0,
                const StagnationRule& rule = {});

  int rhs() const { return int(columns.size()); }
  bool any_active() const;
  /// Books |r|^2 of an iteration: pauses columns at their target, at the last iteration or out of bounds.
  void record(const Coefficients& residual2);
  void fail(int column, StopReason reason);
  /// Stops all columns after NaN or Inf, as the operator or the preconditioner is not what it should be.
  /// `step` is what a preconditioner returned, where there is one; NaN in it is its fault. The call is then
  /// collective.
  void fail_all_not_finite(const SpinorField* step = nullptr);
  /// Says whether some active column has dropped by update_threshold since this run began.
  bool wants_reliable_update() const;
  /// Returns 1 for active columns, 0 for the others.
  Coefficients active_mask() const;

  std::vector<SolveColumn> columns;
  SolveCost cost;
  std::vector<double> history;
  int restarts = 0;
  double update_threshold = 0;  ///< reliable updates come at this factor; 0 means none
  /// Solutions of columns that wait keep their bits (KeptColumns). They do not where reliable updates are
  /// made for all columns when one needs it, as bits depend on the batch there anyway.
  bool keeps_waiting_columns = true;

 private:
  int max_iterations_;
  bool records_history_;
  double tolerance_;
  StagnationRule rule_;
};

/// It surrounds x += coefficients * direction: columns whose coefficient is zero get back what they had,
/// where 16-bit numbers would be rounded again. So they do not depend on how long they wait for other
/// columns.
class KeptColumns {
 public:
  template <class Coefficient>
  KeptColumns(SpinorField& x, const std::vector<Coefficient>& coefficients, SolveProgress& progress) {
    if (!progress.keeps_waiting_columns || !is_16_bit(x.precision())) return;
    for (size_t i = 0; i < coefficients.size(); ++i)
      if (coefficients[i] == Coefficient(0)) waiting_.push_back(int(i));
    if (!waiting_.empty()) keep(x, progress.cost);
  }
  ~KeptColumns();
  KeptColumns(const KeptColumns&) = delete;
  KeptColumns& operator=(const KeptColumns&) = delete;

 private:
  void keep(SpinorField& x, SolveCost& cost);
  SpinorField* x_ = nullptr;
  std::optional<SpinorField> kept_;
  std::vector<int> waiting_;
};

/// Computes x += coefficients * direction by columns; those with coefficient zero keep their bits
/// (KeptColumns).
template <class Coefficient>
void add_to_active(SpinorField& x, const std::vector<Coefficient>& coefficients, const SpinorField& direction,
                   SolveProgress& progress) {
  const KeptColumns kept(x, coefficients, progress);
  combine(x, std::vector<Coefficient>(coefficients.size(), 1.0), x, coefficients, direction);
}

class KrylovMethod {
 public:
  virtual ~KrylovMethod() = default;
  /// Iterates until no column is active (or a reliable update is due): on entry x = 0 and r is the residual;
  /// on return x is the correction, and r is what the recursion says is left.
  /// @pre x and r have the storage of the method's operator.
  virtual void run(SpinorField& x, SpinorField& r, SolveProgress& progress) = 0;
  /// Throws the column's search space away before the next run.
  virtual void forget(int /*column*/) {}
};

}  // namespace trellis
