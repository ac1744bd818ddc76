#pragma once
/// Meson two-point functions (doc/operators/contractions.md) have O = antiquark-bar Gamma quark at the sink,
/// and at the source O'^dagger, the conjugate of antiquark-bar Gamma' quark:
///
///   C(p, t) = - sum_x exp(-i p.(x - x_src)) tr[ Gamma S_quark(x, src) (gamma_t Gamma'^dagger gamma_t)
///                                               S_antiquark(src, x) ]
///
/// with S_antiquark(src, x) = gamma5 S_antiquark(x, src)^dagger gamma5: for a twisted mass pass the
/// propagator of the opposite mu. The pion (gamma5, gamma5) and every diagonal channel come out positive.
#include <utility>

#include "trellis/measure/propagator.hpp"
#include "trellis/measure/time_slice_sums.hpp"

namespace trellis {

struct MesonPair {
  GammaMatrix sink, source;
};

/// The rows are the pairs in their order. Each pair costs 16 complex multiply-adds for a momentum and a time,
/// so asking for many is free. The bits are the same for every process grid, thread count and lane count.
/// Collective.
/// @pre both propagators have the same lattice, layout, storage and source site
CorrelatorTable meson_correlators(const Propagator& quark, const Propagator& antiquark,
                                  const std::vector<MesonPair>& pairs,
                                  const Momenta& momenta = zero_momentum);

/// Takes all pairs: row 16 i + j has gamma_product(i) at the sink and gamma_product(j) at the source
/// (algebra/gamma.hpp).
CorrelatorTable all_meson_correlators(const Propagator& quark, const Propagator& antiquark,
                                      const Momenta& momenta = zero_momentum);

/// Takes one pair by name ("gamma5", "gamma_x gamma5", ...; algebra/gamma.hpp).
CorrelatorTable meson_correlator(const Propagator& quark, const Propagator& antiquark,
                                 const std::string& sink, const std::string& source,
                                 const Momenta& momenta = zero_momentum);

/// Returns the bytes per rank that the contraction needs beside the propagators.
size_t meson_bytes(const Geometry& geometry, int momenta);

}  // namespace trellis
