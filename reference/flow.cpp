#include "reference/flow.hpp"

#include <numbers>

#include "reference/field_strength.hpp"
#include "reference/loops.hpp"

namespace trellis::reference {

namespace {
using Algebra = std::vector<ColorMatrix<double>>;
using FieldStrength = ColorMatrix<double> (*)(const Gauge&, int64_t, int, int);

Algebra flow_direction(const Gauge& V, double epsilon) {
  Algebra Z(V.links.size());
  for (int64_t x = 0; x < V.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu)
      Z[size_t(4 * x + mu)] =
          epsilon * traceless_antihermitian(mul_dagger(staple_sum(V, x, mu), V.link(x, mu)));
  return Z;
}

Algebra combine(double a, const Algebra& A, double b, const Algebra& B) {
  Algebra R(A.size());
  for (size_t i = 0; i < A.size(); ++i) R[i] = a * A[i] + b * B[i];
  return R;
}

Gauge moved(const Gauge& V, const Algebra& Z) {
  Gauge R = V;
  for (size_t i = 0; i < R.links.size(); ++i) R.links[i] = exponential(Z[i]) * V.links[i];
  return R;
}

ColorMatrix<double> without_trace(ColorMatrix<double> F) {
  const Complex<double> third = (1.0 / 3.0) * trace(F);
  for (int i = 0; i < Nc; ++i) F.e[i][i] = F.e[i][i] - third;
  return F;
}

/// Returns sum_x of -(1/32 pi^2) sum eps tr F F: 24 terms of eps, of which 8 equal ones for each of three
/// pairs of planes (xy, zt), (xz, ty), (xt, yz).
double charge(const Gauge& U, FieldStrength field_strength) {
  const int planes[3][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}};
  double sum = 0;
  for (int64_t x = 0; x < U.volume(); ++x)
    for (const auto& p : planes) {
      const ColorMatrix<double> F = without_trace(field_strength(U, x, p[0], p[1]));
      const ColorMatrix<double> G = without_trace(field_strength(U, x, p[2], p[3]));
      sum += 8 * trace(F * G).re;
    }
  return -sum / (32 * std::numbers::pi * std::numbers::pi);
}
}  // namespace

Gauge wilson_flow_step(const Gauge& V, double epsilon) {
  const Algebra Z0 = flow_direction(V, epsilon);
  const Gauge V1 = moved(V, combine(0.25, Z0, 0, Z0));
  const Algebra Z1 = flow_direction(V1, epsilon);
  const Algebra step2 = combine(8.0 / 9, Z1, -17.0 / 36, Z0);
  const Gauge V2 = moved(V1, step2);
  const Algebra Z2 = flow_direction(V2, epsilon);
  return moved(V2, combine(0.75, Z2, -1, step2));
}

double energy_density_clover(const Gauge& U, bool keep_trace) {
  double sum = 0;
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu)
      for (int nu = mu + 1; nu < Nd; ++nu) {
        ColorMatrix<double> F = clover_field_strength(U, x, mu, nu);
        if (!keep_trace) F = without_trace(F);
        sum -= trace(F * F).re;
      }
  return sum / double(U.volume());
}

double energy_density_plaquette(const Gauge& U) { return 36 * (1 - plaquette(U).all); }

double topological_charge(const Gauge& U, ChargeDefinition definition) {
  if (definition == ChargeDefinition::plaquette) return charge(U, plaquette_field_strength);
  const double clover = charge(U, clover_field_strength);
  if (definition == ChargeDefinition::clover) return clover;
  return 5.0 / 3 * clover - 1.0 / 6 * charge(U, rectangle_field_strength);
}

}  // namespace trellis::reference
