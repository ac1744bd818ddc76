#pragma once
/// Sequential propagators give nucleon three-point functions with a fixed sink: the sink at time t is
/// contracted with two of the quarks, and the third is followed back from it,
///
///   C3(t, tau) = sum_{z at tau} exp(i q.(z - x_src)) tr[ Y^dagger(z) gamma5 Gamma S(z, source) ],
///   Y(z) = sum_{x at t} S(z, x) gamma5 K^dagger(x),   K(x) = d C2(x) / d S(x, source)
///
/// Summed over tau it is the Feynman-Hellmann N(t). With S^dagger = gamma5 S gamma5 (Wilson, clover, domain
/// wall) the S of Y is that of the quark with the current. With a twisted mass up has +mu, down has -mu, and
/// S_up^dagger = gamma5 S_down gamma5: Y of a current on up is solved with the operator of down, and back.
#include "trellis/measure/baryons.hpp"

namespace trellis {

struct NucleonSink {
  int separation;  ///< it is t, from the source
  /// These are the weights of the lines that carry the current: {1, 0} is up (the sum of its two), {0, 1} is
  /// down, {1, -1} is the isovector combination for the price of one solve.
  std::array<double, 2> up_and_down;
  SpinMatrix projector;  ///< it is parity_projector(1), polarised_projector(1), ...
  Momentum momentum{0, 0, 0};
};

/// It says how S was smeared at the sink, if it was: K is then smeared in the same way, for d(H S) / dS = H.
struct SinkSmearing {
  const GaugeField* links;
  GaussianSmearing smearing;
};

/// Returns the source of Y, for a proton of the form `full`; up and down may be the same. The phase of three
/// quarks is removed where the sink wrapped around, as in two-point functions.
/// @pre 0 <= separation < Lt; one of the weights is not zero; up and down are smeared at the sink as
/// `smearing` says, and have one lattice, storage, source and boundary phase in time
Source nucleon_sequential_source(const Propagator& up, const Propagator& down, const NucleonSink& sink,
                                 const SinkSmearing* smearing = nullptr);
/// Does the same of two equal flavours.
inline Source nucleon_sequential_source(const Propagator& S, const NucleonSink& sink,
                                        const SinkSmearing* smearing = nullptr) {
  return nucleon_sequential_source(S, S, sink, smearing);
}

/// Returns C3 of each current, [current][q][tau], tau from the source; S is not smeared at the sink.
CorrelatorTable nucleon_three_point(const Propagator& sequential, const Propagator& S,
                                    const std::vector<GammaMatrix>& currents,
                                    const Momenta& momentum_transfers = zero_momentum);

}  // namespace trellis
