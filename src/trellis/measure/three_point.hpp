#pragma once
/// Nucleon three-point functions with a fixed sink, by sequential propagators: the sink at time t is
/// contracted with two of the quarks, and the third is followed back from it,
///
///   C3(t, tau) = sum_{z at tau} exp(i q.(z - x_src)) tr[ Y^dagger(z) gamma5 Gamma S(z, source) ],
///   Y(z) = sum_{x at t} S(z, x) gamma5 K^dagger(x),   K(x) = d C2(x) / d S(x, source)
///
/// summed over tau it is the Feynman-Hellmann N(t). It needs gamma5-hermitian propagators: Wilson, clover and
/// domain wall, not a twisted mass.
#include "trellis/measure/baryons.hpp"

namespace trellis {

struct NucleonSink {
  int separation;        ///< t, from the source
  Flavour flavour;       ///< that carries the current: up (the sum of two lines) or down
  SpinMatrix projector;  ///< parity_projector(1), polarised_projector(1), ...
  Momentum momentum{0, 0, 0};
};

/// The source of Y, for a proton of the form `full` from two equal flavours. The sign of three antiperiodic
/// quarks is removed where the sink wrapped around, as in two-point functions.
/// @pre 0 <= separation < Lt; flavour up or down; S not smeared at the sink
Source nucleon_sequential_source(const Propagator& S, const NucleonSink& sink);

/// C3 of each current, [current][q][tau], tau from the source.
CorrelatorTable nucleon_three_point(const Propagator& sequential, const Propagator& S,
                                    const std::vector<GammaMatrix>& currents,
                                    const Momenta& momentum_transfers = zero_momentum);

}  // namespace trellis
