#pragma once
/// A solve is given up by this rule because it no longer gets anywhere.
///
/// The smallest residual of a column after n iterations is compared with that after n/2: the solve is stuck
/// where the second half gained less than `least_gain`, and where four times the rate of that half would not
/// reach the tolerance with the iterations that are left. So a plateau has to last for half of all
/// iterations. Residuals are the same on all ranks; no clock decides.
#include <limits>
#include <vector>

namespace trellis {

struct StagnationRule {
  int least_iterations = 0;  ///< 0 means never
  double least_gain = 1;     ///< this of |r| is left after the second half, over what was left before it
  int most_iterations = 0;   ///< a solve is not worth more of them, though more are allowed; 0: it is
  int spacing = 32;          ///< it is judged every so many iterations, a multiple of 16
};

/// Nothing says that BiCGStab, GCR and MR converge.
inline constexpr StagnationRule unsure_method{800, 0.8};
/// This is the rule of conjugate gradients in low storage; in double they converge, however long a plateau
/// lasts.
inline constexpr StagnationRule low_storage_cg{2048, 0.95};

/// It keeps the smallest residuals of one column, every 16 iterations.
class ResidualRecord {
 public:
  /// Takes |r|^2 after one more iteration, in units of |b|^2.
  void add(double residual2);
  /// Takes the true |r|^2, recomputed: recursions that claimed less were wrong.
  void correct(double residual2);
  bool is_stuck(const StagnationRule& rule, double tolerance, int max_iterations) const;

 private:
  static constexpr int spacing = 16;
  double smallest_ = std::numeric_limits<double>::infinity();
  std::vector<double> smallest_after_;  ///< [k] belongs to the first k * spacing iterations
  int iterations_ = 0;
};

}  // namespace trellis
