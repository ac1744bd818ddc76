#pragma once
/// Staggered measurements are traces and correlators: traces give the chiral condensate, quark-number density
/// and susceptibility and the magnetisation, correlators the Goldstone pion (doc/operators/staggered.md).
#include "trellis/measure/noise.hpp"
#include "trellis/measure/staggered_masses.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

/// Returns `count` noise fields of colour vectors, numbers index, index + 1, ..., as right-hand sides of a
/// full field in the storage of the matrix. The purpose is trace_noise, and draw = 3 index + colour.
SpinorField staggered_noise(const StaggeredMatrix& matrix, const Noise& noise, int count);

/// Estimates v^dagger A v of traces for each column v. With unit vectors for v their sum is the trace.
struct StaggeredTraces {
  using Values = std::vector<std::complex<double>>;  ///< there is one per column
  Values inverse;                                    ///< A is M^-1
  Values density;    ///< A is M' M^-1, M' = dM/d(mu/T) (real chemical potential)
  Values curvature;  ///< A is M'' M^-1 - M' M^-1 M' M^-1, the connected part of the second derivative
  std::vector<Values> magnetisation;  ///< A is (dM/dk) M^-1 for each plane asked for
  SolveReport report;                 ///< it covers all solves; relative_residual is that of the last
};

struct TraceSpec {
  bool has_curvature = false;  ///< it costs a second solve
  std::vector<int> planes;     ///< these are planes of the flux (StaggeredPhases)
};

/// Computes the traces for these columns. Collective. @pre columns is full, in double; naive or improved
/// links; m != 0
StaggeredTraces staggered_traces(const StaggeredMatrixPtr& matrix, const SpinorField& columns,
                                 const TraceSpec& spec, const SolverSpec& solver);

/// Estimates v^dagger M_k^-1 v of Tr M_k^-1 for many masses and `count` noise vectors v, [mass][vector], by
/// multi-shift solves for all masses of at most so many vectors at a time; see solve_masses(). In the report,
/// relative_residual is [mass][vector].
inline constexpr int noise_vectors_at_a_time = 12;
struct MassTraces {
  std::vector<StaggeredTraces::Values> inverse;
  SolveReport report;
};
MassTraces staggered_mass_traces(const StaggeredMatrix& matrix, const std::vector<double>& masses,
                                 const Noise& noise, int count, const MultiShiftSpec& spec);

/// It is the pion of the Goldstone channel from a point source: C(t) = sum_{x, c, c'} |M^-1(x, t + t0;
/// x0)|^2. Collective.
struct GoldstonePion {
  std::vector<double> correlator;
  SolveReport report;
};
GoldstonePion goldstone_pion(const StaggeredMatrixPtr& matrix, const Coord& source, const SolverSpec& solver);

}  // namespace trellis
