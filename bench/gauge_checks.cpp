#include "bench/gauge_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bench/fields.hpp"
#include "reference/loops.hpp"
#include "reference/smearing.hpp"
#include "trellis/algebra/su3.hpp"
#include "trellis/field/link_derivative.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/stout_chain.hpp"

namespace trellis::bench {

double error_of_force(const GaugeAction& S, const GaugeField& field, const GaugeField& U) {
  AlgebraField F(field);
  ForceWorkspace workspace;
  S.c1 == 0 ? add_force(F, S, field) : add_force(F, S, field, 1.0, workspace);
  std::vector<double> local(size_t(U.geometry().local_volume()) * 32);
  F.to_canonical(local.data());
  const std::vector<double> components = gathered(U.geometry(), local, 32);
  std::vector<ColorMatrix<double>> found;
  for (size_t i = 0; i < components.size(); i += 8) {
    double p[8];
    std::copy_n(&components[i], 8, p);
    found.push_back(algebra_element(p));
  }
  return relative_error(found, reference::gauge_force(to_reference(U), S.beta, S.c1));
}

namespace {
constexpr double wrong = std::numeric_limits<double>::infinity();

}  // namespace

double error_of_heatbath(Heatbath& heatbath, GaugeField& U, uint32_t& trajectory) {
  for (int i = 0; i < 100; ++i) heatbath.update(U, 1, 0, trajectory++);
  const double allowed = 0.8 / std::sqrt(double(U.geometry().volume())) + 0.003;
  if (!(std::fabs(plaquette(U) - 0.5937) < allowed)) return wrong;
  return reference::unitarity_violation(to_reference(U));
}

double error_of_overrelaxation(Heatbath& update, GaugeField& U, uint32_t& trajectory) {
  const reference::Gauge before = to_reference(U);
  update.update(U, 1, 0, trajectory++);
  const reference::Gauge after = to_reference(U);
  if (!(relative_error(after.links, before.links) > 0.1)) return wrong;
  return larger(reference::unitarity_violation(after),
                std::fabs(reference::plaquette(after).all - reference::plaquette(before).all));
}

namespace {
using Matrices = std::vector<ColorMatrix<double>>;

/// Returns a number from -1 to 1 that depends on its arguments alone.
double wave(int64_t n, int component) { return std::sin(1.0 + 0.37 * double(n % 1009) + 1.7 * component); }

/// Sets a derivative by the links, which is some matrix for each of them.
void fill(LinkDerivative& G) {
  const Geometry& g = G.geometry();
  for (int64_t site = 0; site < g.local_volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord local = site_coord(site, g.local());
      Link A;
      for (int k = 0; k < 9; ++k)
        A[size_t(k)] = {wave(g.global_index(local), 18 * mu + 2 * k),
                        wave(g.global_index(local), 18 * mu + 2 * k + 1)};
      G.set_matrix(local, mu, A);
    }
}

/// Returns all matrices on every rank. Collective.
Matrices to_reference(const LinkDerivative& G) {
  const Geometry& g = G.geometry();
  std::vector<Link> local;
  for (int64_t site = 0; site < g.local_volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu) local.push_back(G.matrix(site_coord(site, g.local()), mu));
  const std::vector<double> all = gathered(g, as_doubles(local), 72);
  Matrices matrices(all.size() / 18);
  std::memcpy(static_cast<void*>(matrices.data()), all.data(), all.size() * sizeof(double));
  return matrices;
}

/// Returns sum Re tr(A_i B_i).
double real_trace(const Matrices& A, const Matrices& B) {
  double sum = 0;
  for (size_t n = 0; n < A.size(); ++n)
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j) sum += (A[n].e[i][j] * B[n].e[j][i]).re;
  return sum;
}

}  // namespace

double error_of_stout_chain(const GaugeField& U, double rho) {
  const reference::Gauge links = to_reference(U);
  Matrices X;
  for (size_t i = 0; i < links.links.size(); ++i) {
    double p[8];
    for (int k = 0; k < 8; ++k) p[k] = wave(int64_t(i), k);
    X.push_back(algebra_element(p));
  }
  LinkDerivative G(U);
  fill(G);
  const Matrices A = to_reference(G);
  const auto value = [&](double t) {
    reference::Gauge moved = links;
    for (size_t i = 0; i < X.size(); ++i) moved.links[i] = reference::exponential(t * X[i]) * links.links[i];
    return real_trace(A, reference::stout_smeared(moved, reference::isotropic_stout(rho)).links);
  };
  const double h = 1e-3;
  const double numeric = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
  StoutChain stout(isotropic_stout(rho), 1);
  stout.set(U);
  stout.pull_back(G);
  Matrices direction;
  for (size_t i = 0; i < X.size(); ++i) direction.push_back(X[i] * links.links[i]);
  return std::fabs(real_trace(to_reference(G), direction) - numeric) / std::fabs(numeric);
}

double error_of_single_stout_chain(const GaugeField& rounded, const GaugeField& U, double rho) {
  Matrices found[2];
  for (const GaugeField* field : {&rounded, &U}) {
    StoutChain stout(isotropic_stout(rho), 1);
    stout.set(*field);
    LinkDerivative G(*field);
    fill(G);
    stout.pull_back(G);
    found[field == &U] = to_reference(G);
  }
  return relative_error(found[0], found[1]);
}

double error_of_rounding(const GaugeField& found, const GaugeField& U) {
  std::vector<double> expected = as_doubles(to_reference(U).links);
  for (double& x : expected) x = double(float(x));
  return relative_error(as_doubles(to_reference(found).links), expected);
}

}  // namespace trellis::bench
