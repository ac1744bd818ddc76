#pragma once
/// The checks of bench_gauge find these errors: those of gauge kernels against reference/ or against what
/// they have to do. They are collective; the whole lattice is put together on every rank.
#include "trellis/field/gauge_field.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {

/// Returns the error against the reference; U has links in double that `field` has in its precision.
double error_of_force(const GaugeAction& S, const GaugeField& field, const GaugeField& U);

/// Returns how far links lie outside SU(3) after 100 updates; returns `wrong` unless these bring the
/// plaquette to where it is at beta = 6, 0.5937 up to the fluctuations of one configuration, which are below
/// 0.1 / sqrt(volume).
double error_of_heatbath(Heatbath& heatbath, GaugeField& U, uint32_t& trajectory);

/// Returns how far links lie outside SU(3) and the plaquette moves; returns `wrong` where links stay where
/// they are.
double error_of_overrelaxation(Heatbath& update, GaugeField& U, uint32_t& trajectory);

/// Compares the derivative of S = sum Re tr(A V) of the smeared links V along U -> exp(t X) U, by pull_back
/// and numerically.
double error_of_stout_chain(const GaugeField& U, double rho);

/// Returns the error of pull_back in single precision against the one in double.
double error_of_single_stout_chain(const GaugeField& rounded, const GaugeField& U, double rho);

/// Returns the error against the numbers of U, each rounded to float.
double error_of_rounding(const GaugeField& found, const GaugeField& U);

}  // namespace trellis::bench
