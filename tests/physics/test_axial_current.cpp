/// The divergence of the partially conserved axial current of domain walls is 2 m P + 2 J_5q, at every time
/// slice with the pion at the source, and at single sites as an insertion.
#include <gtest/gtest.h>

#include "tests/support/external_data.hpp"
#include "tests/support/five_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/axial_current.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_axial_current {

const Coord extents{2, 2, 2, 6}, at{1, 0, 1, 2};
const SolverSpec accurate = EvenOddSpec{CgSpec{.tolerance = 1e-13, .max_iterations = 5000}};

GaugeField links() { return test::to_product(make_lattice(extents), test::random_gauge(extents, 81, 0.5)); }

DomainWallParams anisotropic() {
  DomainWallParams p = test::moebius(0.05, 4, 1.5, 0.5);
  p.nu = 1.2;
  p.xi0 = 1.7;
  return p;
}

DomainWallSolve with_axial() {
  DomainWallSolve how{accurate, 6, true, true};
  return how;
}

/// Returns Re tr q(source, source).
double trace_at_source(const Propagator& S) {
  double trace = 0;
  const SitePosition site = S.columns().layout().position(S.source_at());
  for (int column = 0; column < 12; ++column) trace += S.columns().get(site, column, 2 * column);
  return trace;
}

void expect_ward_identity(const GaugeField& U, const DomainWallParams& p, const Coord& source_at) {
  const auto matrix = std::make_shared<DomainWallMatrix>(U, p);
  const DomainWallPropagator S =
      solve_domain_wall(matrix, with_axial(), point_source(U.lattice_ptr(), source_at));
  const auto pion = propagator_norm(S.quark), midpoint = propagator_norm(*S.midpoint);
  const std::vector<double>& A = S.axial_current;
  const size_t Lt = pion.size();
  ASSERT_EQ(A.size(), Lt);
  for (size_t t = 0; t < Lt; ++t) {
    double expected = 2 * p.mass * pion[t] + 2 * midpoint[t];
    if (t == 0) expected -= 2 * trace_at_source(S.quark);
    EXPECT_NEAR(A[t] - A[(t + Lt - 1) % Lt], expected, 1e-11 * pion[0]) << "t = " << t << ", Ls = " << p.Ls;
    EXPECT_GT(std::abs(A[t]), 1e-4 * pion[0]);
  }
}

TEST(AxialCurrent, divergence_is_twice_mass_and_midpoint_at_every_time) {
  for (const auto& p : {test::moebius(0.1, 4, 1, 0), test::moebius(0.05, 6, 1.5, 0.5)})
    for (const Coord& source_at : {at, Coord{0, 1, 1, 5}}) expect_ward_identity(links(), p, source_at);
  DomainWallParams periodic = test::moebius(0.2, 4, 2, 1);
  periodic.boundary = {-1.0, 1.0, 1.0, 1.0};
  expect_ward_identity(links(), periodic, at);
  expect_ward_identity(links(), anisotropic(), at);
}

TEST(AxialCurrent, ward_identity_on_F4) {
  TRELLIS_NEEDS_DATA();
  const auto lattice = make_lattice({4, 4, 4, 4});
  expect_ward_identity(test::to_product(lattice, test::field_F4()), test::moebius(0.1, 6, 2, 1),
                       {0, 0, 0, 0});
}

/// Returns the real part of the sum over columns of tr[gamma5 F(source)].
double pion_at_source(const Propagator& F) {
  double sum = 0;
  const SitePosition site = F.columns().layout().position(F.source_at());
  for (int column = 0; column < 12; ++column)
    sum += (column < 6 ? 1 : -1) * F.columns().get(site, column, 2 * column);
  return sum;
}

TEST(AxialCurrent, contraction_is_the_insertion_seen_at_the_source) {
  const GaugeField U = links();
  const auto matrix = std::make_shared<DomainWallMatrix>(U, test::moebius(0.1, 4, 1.5, 0.5));
  const Source source = point_source(U.lattice_ptr(), at);
  const DomainWallPropagator S = solve_domain_wall(matrix, with_axial(), source);
  DomainWallSolve how{accurate, 6, true};
  for (const int t : {0, 3, 5}) {
    const int time = (at[3] + t) % extents[3];
    const LinkWeights slice = [=](const Coord& x, int mu) { return mu == 3 && x[3] == time ? 1.0 : 0.0; };
    const auto F = conserved_current_propagator(matrix, how, S, source, slice, CurrentKind::axial);
    EXPECT_NEAR(pion_at_source(F.quark), S.axial_current[size_t(t)], 1e-11 * std::abs(S.axial_current[0]));
  }
}

/// Returns 2 [L, q] psi / 2 at one site, zero elsewhere, in slices: -2 m P_+ psi_{Ls-1} at 0, 2 P_-
/// psi_{Ls/2} at Ls/2 - 1, -2 P_+ psi_{Ls/2-1} at Ls/2, 2 m P_- psi_0 at Ls - 1.
SpinorField mass_and_midpoint(const SpinorField& psi, double mass, const Coord& y) {
  SpinorField out = SpinorField::like(psi);
  const int Ls = psi.slices();
  const SitePosition site = psi.layout().position(y);
  const auto put = [&](int rhs, int to, int from, bool is_plus, double factor) {
    double spinor[24], part[24] = {};
    psi.get_site(site, rhs * Ls + from, spinor);
    for (int k = 0; k < 12; ++k) part[(is_plus ? 0 : 12) + k] = factor * spinor[(is_plus ? 0 : 12) + k];
    out.set_site(site, rhs * Ls + to, part);
  };
  for (int rhs = 0; rhs < psi.rhs(); ++rhs) {
    put(rhs, 0, Ls - 1, true, -2 * mass);
    put(rhs, Ls / 2 - 1, Ls / 2, false, 2);
    put(rhs, Ls / 2, Ls / 2 - 1, true, -2);
    put(rhs, Ls - 1, 0, false, 2 * mass);
  }
  return out;
}

/// Away from the source, Gamma_w q inserted with the divergence at y equals D_- [L, q] inserted there, plus
/// gamma5 q at the sink x = y.
TEST(AxialCurrent, divergence_inserted_at_a_site) {
  const GaugeField U = links();
  for (const auto& [p, y] : {std::pair{test::moebius(0.1, 4, 1, 0), Coord{0, 1, 1, 4}},
                             std::pair{test::moebius(0.1, 4, 1.5, 0.5), Coord{1, 0, 1, 1}},
                             std::pair{anisotropic(), Coord{1, 1, 0, 5}}}) {
    const auto matrix = std::make_shared<DomainWallMatrix>(U, p);
    const Source source = point_source(U.lattice_ptr(), at);
    const DomainWallSolve how{accurate, 6, true};
    const DomainWallPropagator S = solve_domain_wall(matrix, how, source);
    const auto left = conserved_current_propagator(matrix, how, S, source, divergence_weights(y, extents),
                                                   CurrentKind::axial);
    const auto right = solve_domain_wall(
        matrix, how, at, "mass and midpoint", [&, mass = p.mass, site = y](SpinorField& b, int first) {
          matrix->apply_D_minus(b, mass_and_midpoint(S.five[size_t(first / 6)], mass, site));
        });
    double difference = 0, scale = 0;
    for (int64_t i = 0; i < left.quark.geometry().local_volume(); ++i) {
      const Coord x = site_coord(i, extents);
      const SitePosition site = left.quark.columns().layout().position(x);
      for (int column = 0; column < 12; ++column)
        for (int k = 0; k < 24; ++k) {
          const double contact = x == y ? (k < 12 ? 1 : -1) * S.quark.columns().get(site, column, k) : 0.0;
          const double expected = right.quark.columns().get(site, column, k) + contact;
          difference += std::pow(left.quark.columns().get(site, column, k) - expected, 2);
          scale += expected * expected;
        }
    }
    EXPECT_LT(std::sqrt(difference / scale), 1e-11);
  }
}

TEST(AxialCurrent, refuses_odd_Ls_and_coefficients_of_each_slice) {
  const GaugeField U = links();
  const Source source = point_source(U.lattice_ptr(), at);
  DomainWallParams slices = test::moebius(0.1, 4, 1, 0);
  slices.b5 = {1.0, 1.1, 1.1, 1.0};
  for (const auto& p : {test::moebius(0.1, 5, 1, 0), slices})
    EXPECT_THROW(solve_domain_wall(std::make_shared<DomainWallMatrix>(U, p), with_axial(), source),
                 BadArgument);
}

}  // namespace in_test_axial_current
}  // namespace trellis
