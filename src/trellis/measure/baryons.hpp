#pragma once
/// Baryon two-point functions (doc/operators/contractions.md) are made from propagators of one, two or three
/// flavours:
///
///   C(p, t) = sum_x exp(-i p.(x - x_src)) < B(x, t + t_src) Bbar(x_src, t_src) >
///
/// Times that wrapped around are multiplied by the product of the three quarks' phases in time, S(x + Lt) = z
/// S(x), which takes the sign of three antiperiodic ones out; Dirichlet time has none. All functions are
/// collective and give the same bits for every process grid, thread count and lane count.
#include "trellis/measure/baryon_operators.hpp"
#include "trellis/measure/propagator.hpp"
#include "trellis/measure/time_slice_sums.hpp"

namespace trellis {

/// It holds propagators by flavour; a flavour that no baryon asked for needs may be null.
/// Wick contractions are those of the flavours: the same propagator may stand for several.
struct BaryonQuarks {
  const Propagator* up = nullptr;
  const Propagator* down = nullptr;
  const Propagator* strange = nullptr;
};

/// This is a Feynman-Hellmann insertion: each quark of `flavour` is replaced in turn by `propagator`, which
/// is sum_z S(x, z) Gamma S(z, source) (propagator_as_source), and the terms are added. With this the
/// two-point functions below become N(t) of doc/conventions.md: - d C / d lambda of D -> D + lambda Gamma on
/// that flavour.
struct Insertion {
  Flavour flavour;
  const Propagator* propagator;
};

/// It is a general spin matrix, [row][column].
using SpinMatrix = std::array<std::array<std::complex<double>, 4>, 4>;
SpinMatrix spin_matrix(const GammaMatrix& gamma);
/// Returns (1 + parity gamma_t) / 2. The value parity = -1 selects the parity partner: averaged over
/// configurations, C_-(t) = - C_+(Lt - t).
SpinMatrix parity_projector(int parity);
/// Returns parity_projector(parity) (-i gamma_x gamma_y): spin up minus spin down along z.
SpinMatrix polarised_projector(int parity);

/// Returns the form `full`, tr[P < B Bbar >] with Bbar = B^dagger gamma_t and the diquark G, for octet
/// operators by name; row = baryon * projectors.size() + projector.
CorrelatorTable octet_correlators(const BaryonQuarks& quarks, const std::vector<std::string>& baryons,
                                  const std::vector<SpinMatrix>& projectors,
                                  const Momenta& momenta = zero_momentum,
                                  const GammaMatrix& diquark = octet_diquark(),
                                  const Insertion* insertion = nullptr);

/// Returns the form `full` of the decuplet, B_k with the diquark C gamma_k, projected to spin 3/2 at rest:
///
///   sum_ij tr[ (1 + parity gamma_t)/2 (delta_ij - gamma_i gamma_j / 3) < B_j Bbar_i > ]
///
/// The table has one row for each baryon. Away from rest spin 1/2 of the same parity mixes in at order p^2.
CorrelatorTable decuplet_correlators(const BaryonQuarks& quarks, const std::vector<std::string>& baryons,
                                     const Momenta& momenta = zero_momentum, int parity = 1,
                                     const Insertion* insertion = nullptr);

/// Does the same for any operators; the table has one row for each projector.
CorrelatorTable diquark_correlators(const BaryonQuarks& quarks, const DiquarkOperator& sink,
                                    const GammaMatrix& sink_diquark, const DiquarkOperator& source,
                                    const GammaMatrix& source_diquark,
                                    const std::vector<SpinMatrix>& projectors,
                                    const Momenta& momenta = zero_momentum,
                                    const Insertion* insertion = nullptr);

/// It is a baryon of the form `projected` in one spin state.
struct BaryonState {
  std::string baryon;
  int twice_spin;
};
/// Returns all states of these baryons, in order.
std::vector<BaryonState> baryon_states(const std::vector<std::string>& baryons);

/// Returns the form `projected`, < B Bbar > (which is parity < B B^dagger >): every quark is projected with
/// (1 + parity gamma_t)/2 at source and sink (parity = +1: as lalibe does in the Dirac-Pauli basis). The
/// table has one row for each state. The sums over sites are shared by all baryons that have the same quarks.
CorrelatorTable projected_correlators(const BaryonQuarks& quarks, const std::vector<BaryonState>& states,
                                      const Momenta& momenta = zero_momentum, int parity = 1,
                                      const Insertion* insertion = nullptr);

/// Returns the bytes per rank that the contractions need beside the propagators.
size_t baryon_bytes(const Geometry& geometry, int momenta);

}  // namespace trellis
