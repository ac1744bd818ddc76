#include "trellis/measure/conserved_current.hpp"

#include <numbers>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

namespace {
/// Returns the hop of i w U, w real: i (forward - backward) hops with weights w. The backward hop has the
/// conjugate of the link, so that real and imaginary parts of complex weights need a field each.
std::unique_ptr<HoppingTerm> weighted_hop(const GaugeField& U, const WilsonParams& hops,
                                          const std::function<double(const Coord&, int)>& weights) {
  KernelChoice choice;
  choice.backend = U.backend();
  return std::make_unique<HoppingTerm>(
      weighted(U, [&](const Coord& x, int mu) { return i1 * weights(x, mu); }), hops, choice);
}

WilsonParams isotropic_hops(const BoundaryPhases& boundary) {
  WilsonParams hops;
  hops.boundary = boundary;
  return hops;
}

/// Tells whether any rank's links have a weight with an imaginary part.
bool has_imaginary_part(const GaugeField& U, const LinkWeights& weights) {
  const Geometry& g = U.geometry();
  ExactSum sum;
  for (int64_t site = 0; site < g.local_volume(); ++site)
    for (int mu = 0; mu < 4; ++mu)
      sum.add(std::abs(weights(g.to_global(site_coord(site, g.local())), mu).imag()));
  U.lattice_ptr()->communicator().sum(&sum, 1);
  return sum.value() > 0;
}
}  // namespace

GaugeField weighted(const GaugeField& U, const LinkWeights& weights) {
  const Geometry& g = U.geometry();
  std::vector<std::complex<double>> links(size_t(g.local_volume()) * 36);
  U.to_canonical(reinterpret_cast<double*>(links.data()));
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const Coord x = g.to_global(site_coord(site, g.local()));
    for (int mu = 0; mu < 4; ++mu) {
      const std::complex<double> factor = weights(x, mu);
      for (size_t k = 0; k < 9; ++k) links[size_t(36 * site + 9 * mu) + k] *= factor;
    }
  }
  GaugeField V = U;
  V.from_canonical(reinterpret_cast<const double*>(links.data()));
  return V;
}

LinkWeights charge_weights() {
  return [](const Coord&, int mu) { return mu == 3 ? 1.0 : 0.0; };
}

LinkWeights current_weights(int mu, const Momentum& n, const Coord& at, const Coord& extents,
                            std::optional<int> time) {
  TRELLIS_REQUIRE(mu >= 0 && mu < 4, "a current's direction is 0, 1, 2 or 3 (x, y, z, t), not ", mu);
  TRELLIS_REQUIRE(!time || (*time >= 0 && *time < extents[3]), "time ", time.value_or(0),
                  " of a current is not in 0..", extents[3] - 1);
  return [=](const Coord& x, int nu) -> std::complex<double> {
    if (nu != mu || (time && x[3] != *time)) return 0.0;
    if (n == Momentum{0, 0, 0}) return 1.0;
    double angle = 0;
    for (int k = 0; k < 3; ++k)
      angle += 2 * std::numbers::pi * n[k] / extents[k] * (x[k] - at[k] + (k == mu ? 0.5 : 0.0));
    return std::polar(1.0, angle);
  };
}

LinkWeights divergence_weights(const Coord& y, const Coord& extents) {
  return [=](const Coord& x, int mu) {
    Coord ahead = x;
    ahead[mu] = (x[mu] + 1) % extents[mu];
    return double(ahead == y) - double(x == y);
  };
}

ConservedCurrent::ConservedCurrent(const GaugeField& U, const BoundaryPhases& boundary,
                                   const LinkWeights& weights)
    : ConservedCurrent(U, isotropic_hops(boundary), weights) {}

ConservedCurrent::ConservedCurrent(const GaugeField& U, const WilsonParams& hops,
                                   const LinkWeights& weights) {
  hop_ = weighted_hop(U, hops, [&](const Coord& x, int mu) { return weights(x, mu).real(); });
  if (has_imaginary_part(U, weights))
    imaginary_hop_ = weighted_hop(U, hops, [&](const Coord& x, int mu) { return weights(x, mu).imag(); });
}

/// It computes 1/2 (backward - forward) = i/2 H[i w U], and adds i times that of the imaginary parts.
void ConservedCurrent::apply(SpinorField& out, const SpinorField& in) const {
  const HopTask task;
  for (int parity = 0; parity < 2; ++parity) hop_->apply(out, parity, in, task);
  const ComplexCoefficients half_i(size_t(out.rhs()), 0.5 * i1), zero(size_t(out.rhs()), 0.0);
  if (!imaginary_hop_) return combine(out, half_i, out, zero, out);
  SpinorField imaginary = SpinorField::like(out);
  for (int parity = 0; parity < 2; ++parity) imaginary_hop_->apply(imaginary, parity, in, task);
  combine(out, half_i, out, ComplexCoefficients(size_t(out.rhs()), -0.5), imaginary);
}

Source conserved_current_source(const Propagator& S, const ConservedCurrent& current) {
  TRELLIS_REQUIRE(S.precision() == Precision::double_precision,
                  "the conserved current is inserted in double: convert the propagator");
  std::optional<SpinorField> moved;
  if (S.columns().spec().backend != current.backend())
    moved.emplace(moved_to(S.columns(), current.backend()));
  const SpinorField& in = moved ? *moved : S.columns();
  SpinorField columns = SpinorField::like(in);
  current.apply(columns, in);
  return {std::move(columns), S.source_at(), S.description() + ", conserved current"};
}

SpinorField current_field(const DomainWallMatrix& matrix, const SpinorField& psi, const SpinorField& source,
                          int first) {
  SpinorField eta = SpinorField::like(psi), Y = SpinorField::like(psi);
  set_walls(eta, source, first);
  for (int parity = 0; parity < 2; ++parity) {
    matrix.apply_fifth(eta, eta, parity, FifthMatrix::half_c5, false);
    matrix.apply_fifth(Y, psi, parity, FifthMatrix::B, false);
  }
  combine(Y, 1.0, Y, 2.0, eta);
  return Y;
}

DomainWallPropagator conserved_current_propagator(const DomainWallMatrixPtr& matrix,
                                                  const DomainWallSolve& how, const DomainWallPropagator& S,
                                                  const Source& source, const LinkWeights& weights,
                                                  CurrentKind kind) {
  const int batch = how.columns_per_solve;
  TRELLIS_REQUIRE(batch >= 1 && int(S.five.size()) * batch == Propagator::columns_per_propagator,
                  "the conserved current of domain walls needs the propagator's 5-D fields in ", "solves of ",
                  batch, " columns, not ", S.five.size(), " of them");
  const bool is_axial = kind == CurrentKind::axial;
  TRELLIS_REQUIRE(!is_axial || matrix->params().Ls % 2 == 0, "the axial current needs an even Ls, not ",
                  matrix->params().Ls);
  const ConservedCurrent current(matrix->links(), matrix->params().kernel(), weights);
  const auto set_source = [&](SpinorField& b, int first) {
    SpinorField Y = current_field(*matrix, S.five[size_t(first / batch)], source.columns, first);
    for (int parity = 0; is_axial && parity < 2; ++parity)
      matrix->apply_fifth(Y, Y, parity, FifthMatrix::axial_sign, false);
    current.apply(b, Y);
  };
  const char* name = is_axial ? ", conserved axial current" : ", conserved current";
  return solve_domain_wall(matrix, how, source.at, source.description + name, set_source);
}

}  // namespace trellis
