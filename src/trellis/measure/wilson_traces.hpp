#pragma once
/// Noise vectors give traces of Wilson, clover and twisted-mass quarks, and these the chiral and pseudoscalar
/// condensate, quark-number density and susceptibility (doc/operators/wilson.md).
#include <complex>
#include <vector>

#include "trellis/measure/noise.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

/// Estimates v^dagger A v of traces for each column v. With unit vectors for v their sum is the trace.
struct WilsonTraces {
  using Values = std::vector<std::complex<double>>;  ///< there is one per column
  Values inverse;                                    ///< A is M^-1
  Values gamma5;                                     ///< A is gamma5 M^-1
  Values density;      ///< A is M' M^-1, M' = dM/d(mu/T) (real chemical potential)
  Values curvature;    ///< A is M'' M^-1 - M' M^-1 M' M^-1, the connected part of the second derivative
  SolveReport report;  ///< it covers all solves; relative_residual is that of the last
};

/// The chemical potential enters as exp(+-mu) on the temporal hops, which is where the conserved charge sits.
/// has_curvature costs a second solve. Collective.
/// @pre U: the links of `matrix`; columns: full spinor fields in double;
/// matrix in double
WilsonTraces wilson_traces(const WilsonMatrixPtr& matrix, const GaugeField& U, const SpinorField& columns,
                           bool has_curvature, const SolverSpec& solver);

}  // namespace trellis
