#pragma once
/// This file has meson two-point functions (doc/conventions.md, Correlators).
#include "reference/solver.hpp"

namespace trellis::reference {

/// Returns C(t) = sum_x exp(-i p.(x - x_src)) < O(x, t + t_src) O'^dagger(x_src, t_src) >, p = 2 pi n / L,
/// O = antiquark-bar Gamma_sink quark, O' the same with Gamma_source:
///   C = - tr[ Gamma_sink S_quark(x, 0) Gamma' S_antiquark(0, x) ],  Gamma' = gamma_t Gamma_source^dagger
///   gamma_t, S(0, x) = gamma5 S(x, 0)^dagger gamma5 (for a twisted mass the caller passes the propagator of
///   the opposite mu).
std::vector<std::complex<double>> meson(const Propagator& quark, const Propagator& antiquark,
                                        const GammaMatrix& sink, const GammaMatrix& source,
                                        const std::array<int, 3>& n = {0, 0, 0},
                                        const Coord& source_at = {0, 0, 0, 0});

/// Returns the sum over space, spins and colours of |S|^2 at time t + t_src: the pion at zero momentum.
std::vector<double> propagator_norm(const Propagator& S, int source_time = 0);

/// Returns exp(-i p.(x - x_src)).
std::complex<double> momentum_phase(const Coord& x, const Coord& source_at, const std::array<int, 3>& n,
                                    const Coord& extents);

}  // namespace trellis::reference
