#pragma once
/// This file has nucleon three-point functions of conserved currents with a fixed sink (three_point.hpp has
/// the local ones). A current lies on links; the link from z in direction mu counts with exp(i q.(z + mu/2 -
/// x_src)) at the time tau of z:
///
///   C3(t, tau) = sum_{z at tau} exp(i q.(z + mu/2 - x_src)) sum over columns of
///       1/2 [ chi^dagger(z + mu) (1 + gamma_mu) U_mu(z)^dagger Z(z) - chi^dagger(z) (1 - gamma_mu) U_mu(z)
///       Z(z + mu) ],          D^dagger chi = K^dagger at the sink
///
/// which, summed over tau, is the Feynman-Hellmann N(t) of conserved_current.hpp. Wilson quarks have chi =
/// gamma5 Y with the sequential propagator Y, and Z = S. Domain walls (all slices summed) have Z = Y of
/// conserved_current.hpp of the source's solve, with q_s before it for the axial current. D5^dagger chi =
/// [P_- K^dagger at s = 0, P_+ K^dagger at s = Ls - 1] needs no solve of D5^dagger: with b5 and c5 the same
/// on all slices,
///
///   chi_s = gamma5 (B psi + c5 eta)_{Ls-1-s} / (b5 + c5)
///
/// psi being the 5-D solution and eta the walls of the sequential propagator (axial_current.hpp has the same
/// identity with the source in the place of the sink).
#include "trellis/measure/conserved_current.hpp"
#include "trellis/measure/time_slice_sums.hpp"

namespace trellis {

struct ConservedInsertion {
  CurrentKind kind = CurrentKind::vector;
  int mu = 3;
};

/// It holds a domain-wall propagator with its 5-D fields, and the source it was solved from.
struct DomainWallLine {
  const DomainWallPropagator& S;
  const Source& source;
};

/// Returns C3 of each current of domain walls, [current][q][tau], tau from the source; `sequential` was
/// solved from nucleon_sequential_source with the matrix of S. Collective.
/// @pre both with keeps_five and the same columns_per_solve, of one place of the source, on the matrix's
/// lattice; matrix in double, with one real b5 and one real c5 for all slices; axial: even Ls
CorrelatorTable conserved_three_point(const DomainWallMatrixPtr& matrix, const DomainWallLine& sequential,
                                      const DomainWallLine& S,
                                      const std::vector<ConservedInsertion>& currents,
                                      const Momenta& momentum_transfers = zero_momentum);

/// Returns C3 of the vector current of Wilson-type quarks in these directions; U and `hops` are their
/// operator's, as of ConservedCurrent. Collective.
/// @pre propagators in double, of one source, on the lattice of U
CorrelatorTable conserved_three_point(const GaugeField& U, const WilsonParams& hops,
                                      const Propagator& sequential, const Propagator& S,
                                      const std::vector<int>& directions,
                                      const Momenta& momentum_transfers = zero_momentum);

}  // namespace trellis
