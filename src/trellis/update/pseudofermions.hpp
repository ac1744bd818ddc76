#pragma once
/// Pseudofermion actions share normal fields, rational functions of operators, ends of the spectrum.
#include <string>
#include <vector>

#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/solve_report.hpp"
#include "trellis/update/monomial.hpp"
#include "trellis/update/squared_operator.hpp"

namespace trellis {

/// Draws complex normal components with <|eta|^2> = 1 for each, on the sites of the field. The draw has
/// number (id << 20) + (right-hand side << 8) + k for the k-th complex component. @pre id < 4096, at most
/// 4096 right-hand sides
void set_normal(SpinorField& eta, const TrajectoryKey& key, uint32_t id);

/// Throws NumericError if a solve missed its tolerance; the message has its limit, `max_iterations`, which is
/// not report.iterations where a limit holds for several parts of the solve.
void require_solved(const Monomial& monomial, const SolveReport& report, double tolerance,
                    const std::string& max_iterations);

/// It is r(x) = constant + sum_k residues[k] / (x + shifts[k]).
struct RationalFunction {
  double constant = 0;
  std::vector<double> residues, shifts;
};

/// It says how far the solves of a rational function go.
struct RationalSolve {
  RationalFunction function;
  double tolerance = 1e-10;  ///< it bounds |b - (A + shift) x| / |b| for every shift
  int max_iterations = 20000;
  /// Single precision runs the recursion in float alone, whose solutions are not corrected (molecular
  /// dynamics).
  Precision precision = Precision::double_precision;
};
/// A recursion in float may be asked for this at best.
inline constexpr double smallest_single_tolerance = 1e-8;

/// Solves x_k = (A + shifts[k])^-1 b, into fields that are made if need be; it iterates in float inside where
/// the tolerance allows it, or as solve.precision says. Counts time and iterations; throws NumericError if a
/// shift misses the tolerance (in single precision: if the recursion does). Collective.
void solve_shifts(std::vector<SpinorField>& x, SquaredOperator& fermion, const RationalSolve& solve,
                  const SpinorField& b, Monomial& monomial);
/// Computes out = r(A) b.
void apply_rational(SpinorField& out, std::vector<SpinorField>& x, SquaredOperator& fermion,
                    const RationalSolve& solve, const SpinorField& b, Monomial& monomial);

/// These are Ritz values of Lanczos steps from a random vector: the largest is below the largest eigenvalue
/// of A, and close to it after a few; the smallest is above the smallest, and needs as many as a solve where
/// A is ill-conditioned.
struct SpectrumEnds {
  double smallest = 0, largest = 0;
  double smallest_error = 0;  ///< |A v - smallest v| of its Ritz vector says that an eigenvalue of A is that
                              ///< near
  int steps = 0;
};
struct LanczosSteps {
  int least = 40, most = 20000;
  /// The search goes on until smallest_error is below this part of `smallest`; 0 takes `least` steps.
  double accuracy = 0;
};
/// Runs Lanczos steps. Throws NumericError if the steps run out, or A or the vectors are not finite.
/// Collective.
SpectrumEnds lanczos_ends(const LinearOperator& A, const LanczosSteps& steps, const TrajectoryKey& key);

}  // namespace trellis
