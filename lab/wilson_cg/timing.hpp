/// The ladders of this folder measure one CG iteration by processor time, in the best decile of rounds.
#pragma once

#include <algorithm>
#include <ctime>
#include <vector>

#include "trellis/solver/methods/cg.hpp"

namespace trellis::lab {

/// Returns the seconds of this process: what others do on the machine counts less.
inline double processor_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

inline double best_decile(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 10];
}

/// Returns the seconds of one iteration of CG on A^dagger A, in the storage of A, for all right-hand sides of
/// the source.
inline double seconds_of_iteration(const LinearOperator& A, const SpinorField& source) {
  constexpr int iterations = 10;
  ConjugateGradient method(A, source.rhs(), CgForm::normal_equations, false);
  SolveProgress progress(source.rhs(), iterations, false);
  for (SolveColumn& column : progress.columns) {
    column.is_active = true;
    column.start2 = column.largest2 = 1.0;
  }
  SpinorField x = SpinorField::like(source), r = source;
  const double start = processor_seconds();
  method.run(x, r, progress);
  return (processor_seconds() - start) / iterations;
}

}  // namespace trellis::lab
