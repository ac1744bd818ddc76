#pragma once
/// The conserved vector current is inserted with weights on links,
///
///   Gamma_w psi(x) = sum_mu 1/2 [ w_mu(x-mu) (1 + gamma_mu) U_mu(x-mu)^dagger psi(x-mu)
///                               - w_mu(x) (1 - gamma_mu) U_mu(x) psi(x+mu) ],
///
/// spatial terms times nu/xi0, which is D_W -> D_W - lambda Gamma_w for U -> exp(-lambda w) U forward and
/// exp(lambda w) backward, with the boundary phases. With w = 1 on temporal links it is the charge summed
/// over all times; with w = 1 on those of one time slice it is the charge at that time; with w = the gradient
/// of a site's delta function it is the divergence there, which vanishes away from source and sink. All are
/// exact on any field, to the precision of the solve.
#include <complex>
#include <functional>
#include <optional>

#include "trellis/measure/domain_wall_propagator.hpp"

namespace trellis {

/// Returns w_mu(x) for x in global coordinates.
using LinkWeights = std::function<std::complex<double>(const Coord& x, int mu)>;
/// Returns w U: its hop has weights w forward and conj(w) backward.
GaugeField weighted(const GaugeField& U, const LinkWeights& weights);
/// Returns 1 on temporal links.
LinkWeights charge_weights();
/// Returns the weights of the current J_mu with a momentum: exp(i q.(x + mu/2 - at)), q = 2 pi n / L, on the
/// links in direction mu. If `time` is given, only the links that begin at this global time count.
LinkWeights current_weights(int mu, const Momentum& n, const Coord& at, const Coord& extents,
                            std::optional<int> time = {});
/// Returns w_mu(x) = f(x + mu) - f(x) with f = 1 at y and 0 elsewhere.
LinkWeights divergence_weights(const Coord& y, const Coord& extents);

/// It is the Wilson-type insertion as an operator on spinor fields in double.
class ConservedCurrent {
 public:
  /// Takes boundary phases and anisotropy from the hops of this operator. Clover term and twisted mass do not
  /// hop. Collective.
  ConservedCurrent(const GaugeField& U, const WilsonParams& hops, const LinkWeights& weights);
  /// The hops are isotropic.
  ConservedCurrent(const GaugeField& U, const BoundaryPhases& boundary, const LinkWeights& weights);
  /// Computes out = Gamma_w in on full fields of any number of slots. @pre double; out is not in
  void apply(SpinorField& out, const SpinorField& in) const;
  /// It acts on fields of the links' backend.
  Backend backend() const { return hop_->choice().backend; }

 private:
  std::unique_ptr<HoppingTerm> hop_;            ///< it has the real parts of the weights
  std::unique_ptr<HoppingTerm> imaginary_hop_;  ///< it has the imaginary parts, where there are any
};

/// Returns the source Gamma_w S: its propagator is sum S Gamma_w S (Wilson and clover).
Source conserved_current_source(const Propagator& S, const ConservedCurrent& current);

/// Domain-wall fermions have two currents: the vector current acts alike on all slices; the axial one acts
/// with q_s = -1 on those below Ls/2 and +1 above, and is conserved up to 2 m_f P + 2 J_5q.
enum class CurrentKind { vector, axial };

/// Returns Y = B psi + c5 eta with the walls eta of columns first, first + 1, ... of `source`. Domain-wall
/// currents act on it, as D_- on the source carries the current too.
SpinorField current_field(const DomainWallMatrix& matrix, const SpinorField& psi, const SpinorField& source,
                          int first);

/// Returns the domain-wall quark with the current inserted: D5 phi = Gamma_w Y, or Gamma_w q Y (axial). For
/// the vector current this is d q / d lambda.
/// @pre S was solved from `source` with keeps_five and the same columns_per_solve; axial: even Ls
DomainWallPropagator conserved_current_propagator(const DomainWallMatrixPtr& matrix,
                                                  const DomainWallSolve& how, const DomainWallPropagator& S,
                                                  const Source& source, const LinkWeights& weights,
                                                  CurrentKind kind = CurrentKind::vector);

}  // namespace trellis
