#include "reference/domain_wall.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

std::complex<double> dot(const FiveVector& a, const FiveVector& b) {
  std::complex<double> sum = 0;
  for (size_t s = 0; s < a.size(); ++s) sum += dot(a[s], b[s]);
  return sum;
}

double norm2(const FiveVector& a) {
  double sum = 0;
  for (const SpinorVector& slice : a) sum += norm2(slice);
  return sum;
}

double relative_error(const FiveVector& a, const FiveVector& b) {
  double sum = 0;
  for (size_t s = 0; s < a.size(); ++s) sum += norm2(difference(a[s], b[s]));
  return std::sqrt(sum / norm2(b));
}

/// Returns the part of one chirality, with gamma5 = diag(1, 1, -1, -1).
SpinorVector chiral_part(const SpinorVector& psi, int sign) {
  SpinorVector part = zero_spinors(int64_t(psi.size()));
  const int first = sign > 0 ? 0 : 2;
  for (size_t x = 0; x < psi.size(); ++x)
    for (int s = first; s < first + 2; ++s) part[x].s[s] = psi[x].s[s];
  return part;
}

namespace {
WilsonParameters kernel_parameters(const DomainWallParameters& parameters) {
  WilsonParameters w = wilson_clover(-parameters.M5, 0, parameters.boundary);
  w.nu = parameters.nu;
  w.xi0 = parameters.xi0;
  return w;
}
}  // namespace

DomainWallOperator::DomainWallOperator(const Gauge& links, const DomainWallParameters& parameters)
    : parameters_{parameters}, wilson_{links, kernel_parameters(parameters)} {
  TRELLIS_REQUIRE(parameters.Ls >= 2, "Ls = ", parameters.Ls, " is below 2");
}

FiveVector DomainWallOperator::zero() const {
  return FiveVector(size_t(parameters_.Ls), zero_spinors(wilson_.links().volume()));
}

/// Returns L psi; L^dagger psi has s + 1 and s - 1 exchanged.
FiveVector DomainWallOperator::shifted(const FiveVector& psi, bool is_dagger) const {
  const size_t Ls = psi.size();
  FiveVector out = zero();
  for (size_t s = 0; s < Ls; ++s) {
    const size_t above = (s + 1) % Ls, below = (s + Ls - 1) % Ls;
    const double wraps_above = s == Ls - 1 ? -parameters_.mass : 1.0;
    const double wraps_below = s == 0 ? -parameters_.mass : 1.0;
    add_scaled(out[s], wraps_above, chiral_part(psi[above], is_dagger ? 1 : -1));
    add_scaled(out[s], wraps_below, chiral_part(psi[below], is_dagger ? -1 : 1));
  }
  return out;
}

FiveVector DomainWallOperator::apply_D_minus(const FiveVector& psi) const {
  FiveVector out = psi;
  for (size_t s = 0; s < psi.size(); ++s) add_scaled(out[s], -parameters_.c(s), wilson_.apply(psi[s]));
  return out;
}

FiveVector DomainWallOperator::apply(const FiveVector& psi) const {
  const FiveVector hop = apply_D_minus(shifted(psi, false));
  FiveVector out = psi;
  for (size_t s = 0; s < psi.size(); ++s) {
    add_scaled(out[s], parameters_.b(s), wilson_.apply(psi[s]));
    add_scaled(out[s], -1.0, hop[s]);
  }
  return out;
}

/// Returns D_+^dagger psi - L^dagger D_-^dagger psi.
FiveVector DomainWallOperator::apply_dagger(const FiveVector& psi) const {
  FiveVector out = psi, minus = psi;
  for (size_t s = 0; s < psi.size(); ++s) {
    const SpinorVector W = wilson_.apply_dagger(psi[s]);
    add_scaled(out[s], std::conj(parameters_.b(s)), W);
    add_scaled(minus[s], -std::conj(parameters_.c(s)), W);
  }
  const FiveVector hop = shifted(minus, true);
  for (size_t s = 0; s < psi.size(); ++s) add_scaled(out[s], -1.0, hop[s]);
  return out;
}

namespace {
void add_scaled_slices(FiveVector& y, double a, const FiveVector& x) {
  for (size_t s = 0; s < y.size(); ++s) add_scaled(y[s], a, x[s]);
}
}  // namespace

FiveVector solve(const DomainWallOperator& D, const FiveVector& b, double tolerance, int max_iterations) {
  FiveVector x = D.zero(), r = b, g = D.apply_dagger(r), p = g;
  double g2 = norm2(g);
  const double b2 = norm2(b);
  if (b2 == 0) return x;
  for (int n = 0; n < max_iterations; ++n) {
    const FiveVector q = D.apply(p);
    const double alpha = g2 / norm2(q);
    add_scaled_slices(x, alpha, p);
    add_scaled_slices(r, -alpha, q);
    if (norm2(r) <= tolerance * tolerance * b2) return x;
    g = D.apply_dagger(r);
    const double old = g2;
    g2 = norm2(g);
    FiveVector next = g;
    add_scaled_slices(next, g2 / old, p);
    p = std::move(next);
  }
  throw NumericError("reference domain-wall CG: too many iterations");
}

FiveVector domain_wall_source(const DomainWallOperator& D, const SpinorVector& b) {
  FiveVector eta = D.zero();
  eta.front() = chiral_part(b, 1);
  add_scaled(eta.back(), 1.0, chiral_part(b, -1));
  return D.apply_D_minus(eta);
}

SpinorVector wall_quark(const FiveVector& psi) {
  SpinorVector q = chiral_part(psi.front(), -1);
  add_scaled(q, 1.0, chiral_part(psi.back(), 1));
  return q;
}

SpinorVector midpoint_quark(const FiveVector& psi) {
  SpinorVector q = chiral_part(psi[psi.size() / 2], -1);
  add_scaled(q, 1.0, chiral_part(psi[psi.size() / 2 - 1], 1));
  return q;
}

DomainWallPropagators propagators(const DomainWallOperator& D, const Propagator& source, double tolerance) {
  DomainWallPropagators S{source, source};
  for (size_t column = 0; column < 12; ++column) {
    const FiveVector psi = solve(D, domain_wall_source(D, source.columns[column]), tolerance);
    S.quark.columns[column] = wall_quark(psi);
    S.midpoint.columns[column] = midpoint_quark(psi);
  }
  return S;
}

}  // namespace trellis::reference
