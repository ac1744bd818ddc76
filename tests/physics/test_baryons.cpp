// timeout: 600
/// Baryon correlators of solved propagators have gauge invariance, relations of the two forms, and
/// gold.json's nucleon.
#include <gtest/gtest.h>

#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_baryons {

using Correlator = std::vector<std::complex<double>>;
const SolverSpec accurate = EvenOddSpec{CgSpec{.tolerance = 1e-13, .max_iterations = 5000}};

WilsonMatrixPtr clover(const LatticePtr& lattice, const reference::Gauge& U, double mass, double csw,
                       std::complex<double> boundary_t = -1.0) {
  WilsonParams p;
  p.mass = mass;
  p.csw_spatial = p.csw_temporal = csw;
  p.boundary[3] = boundary_t;
  return std::make_shared<WilsonMatrix>(test::to_product(lattice, U), p, KernelChoice{});
}

Correlator row(const CorrelatorTable& table, int r) {
  return Correlator(table.values.begin() + r * table.momenta * table.times,
                    table.values.begin() + r * table.momenta * table.times + table.times);
}

TEST(Baryons, are_gauge_invariant) {
  const Coord extents{4, 2, 2, 4}, at{1, 1, 0, 3};
  const auto lattice = make_lattice(extents);
  const auto U = test::random_gauge(extents, 61, 0.8);
  const auto rotated = reference::gauge_transformed(U, test::random_transformation(extents, 62));
  std::vector<std::complex<double>> first;
  for (const auto& links : {U, rotated}) {
    const Source source = smeared(point_source(lattice, at), test::to_product(lattice, links), {2.0, 4});
    const Propagator u = solve_propagator(clover(lattice, links, 0.3, 1.0), accurate, source);
    const Propagator s = solve_propagator(clover(lattice, links, 0.6, 1.0), accurate, source);
    auto C =
        octet_correlators({&u, &u, &s}, octet_names(), {parity_projector(1), polarised_projector(-1)}).values;
    const auto D = projected_correlators({&u, &u, &s}, baryon_states(decuplet_names())).values;
    C.insert(C.end(), D.begin(), D.end());
    const auto E = decuplet_correlators({&u, &u, &s}, {"delta_plus", "xi_star_zero"}).values;
    C.insert(C.end(), E.begin(), E.end());
    if (first.empty()) first = C;
    const double scale = std::abs(first[2]);
    for (size_t i = 0; i < C.size(); ++i)
      EXPECT_LT(std::abs(C[i] - first[i]), 1e-9 * (scale + std::abs(first[i]))) << i;
  }
}

struct NucleonForms {
  CorrelatorTable full, projected;  // the rows are unpolarised, polarised; up, down
};
NucleonForms nucleon(const Propagator& S, const Insertion* insertion = nullptr) {
  const BaryonQuarks quarks{&S, &S, nullptr};
  return {octet_correlators(quarks, {"proton"}, {parity_projector(1), polarised_projector(1)}, zero_momentum,
                            octet_diquark(), insertion),
          projected_correlators(quarks, {{"proton", 1}, {"proton", -1}}, zero_momentum, 1, insertion)};
}

/// Compares with gold's keys: full, nr = 2 (up + down), each with _Sz; and with lalibe's operators.
void expect_forms(const nlohmann::json& gold, const std::string& prefix, const NucleonForms& found) {
  const Correlator up = row(found.projected, 0), down = row(found.projected, 1);
  Correlator nr(up.size()), nr_z(up.size());
  for (size_t t = 0; t < up.size(); ++t) {
    nr[t] = 2.0 * (up[t] + down[t]);
    nr_z[t] = 2.0 * (up[t] - down[t]);
  }
  auto check = [&](const std::string& name, const std::string& scale_name, const Correlator& C) {
    const Correlator wanted = test::gold_complex_list(gold.at(prefix + name));
    const Correlator scale = test::gold_complex_list(gold.at("C2_" + scale_name));
    ASSERT_EQ(wanted.size(), C.size());
    for (size_t t = 0; t < C.size(); ++t)
      EXPECT_LT(std::abs(C[t] - wanted[t]), 1e-10 * std::max(std::abs(scale[t]), std::abs(wanted[t])))
          << prefix << name << " t = " << t << ": " << C[t] << " for " << wanted[t];
  };
  check("full", "full", row(found.full, 0));
  check("full_Sz", "full", row(found.full, 1));
  check("nr", "nr", nr);
  check("nr_Sz", "nr", nr_z);
  check("lalibe_spin_up", "lalibe_spin_up", up);
  check("lalibe_spin_dn", "lalibe_spin_dn", down);
}

void expect_nucleon_of_gold(const std::string& id, std::complex<double> boundary_t) {
  const auto U = test::field_F4();
  const auto lattice = make_lattice(U.extents);
  const auto matrix = clover(lattice, U, kappa_to_mass(0.13), 1.0, boundary_t);
  const Propagator S = solve_propagator(matrix, accurate, point_source(lattice, {0, 0, 0, 0}));
  const auto& gold = test::gold(id);
  expect_forms(gold, "C2_", nucleon(S));
  for (const auto& [name, gamma] : {std::pair{"V4_", "gamma_t"}, {"A3_", "gamma_z gamma5"}}) {
    const Propagator F = solve_propagator(matrix, accurate, propagator_as_source(S, gamma_by_name(gamma)));
    const Insertion up{Flavour::up, &F}, down{Flavour::down, &F};
    expect_forms(gold, std::string(name) + "UU_", nucleon(S, &up));
    expect_forms(gold, std::string(name) + "DD_", nucleon(S, &down));
  }
}

TEST(Baryons, nucleon_of_gold_antiperiodic) {
  TRELLIS_NEEDS_DATA();
  expect_nucleon_of_gold("nucleon.F4.k0.13.c1.apbc", -1.0);
}

TEST(Baryons, nucleon_of_gold_dirichlet) {
  TRELLIS_NEEDS_DATA();
  expect_nucleon_of_gold("nucleon.F4.k0.13.c1.dirichlet_t", 0.0);
}

/// On unit links time reversal holds on the one configuration: with the sign of wrapped times removed, the
/// parity partner is C_-(t) = - C_+(Lt - t), for all t and wherever the source is.
TEST(Baryons, parity_partner_runs_backward_on_unit_links) {
  const auto lattice = make_lattice({4, 4, 4, 8});
  const Propagator S = solve_propagator(clover(lattice, reference::unit_gauge(lattice->extents()), 0.2, 0),
                                        accurate, point_source(lattice, {1, 2, 3, 5}));
  const auto C =
      octet_correlators({&S, &S, &S}, {"proton", "lambda"}, {parity_projector(1), parity_projector(-1)});
  const auto delta = decuplet_correlators({&S, &S, &S}, {"delta_plus_plus"});
  const auto partner = decuplet_correlators({&S, &S, &S}, {"delta_plus_plus"}, zero_momentum, -1);
  for (int t = 1; t < 8; ++t)
    EXPECT_LT(std::abs(delta.at(0, 0, t) + partner.at(0, 0, 8 - t)), 1e-10 * std::abs(delta.at(0, 0, t)))
        << t;
  for (int t = 0; t < 4; ++t) EXPECT_GT(delta.at(0, 0, t).real(), 0.0) << t;
  const auto forward =
      projected_correlators({&S, &S, &S}, {{"proton", 1}, {"omega_minus", 3}}, zero_momentum, 1);
  const auto backward =
      projected_correlators({&S, &S, &S}, {{"proton", 1}, {"omega_minus", 3}}, zero_momentum, -1);
  for (int t = 1; t < 8; ++t) {
    for (const int baryon : {0, 1})
      EXPECT_LT(std::abs(C.at(2 * baryon, 0, t) + C.at(2 * baryon + 1, 0, 8 - t)),
                1e-10 * std::abs(C.at(2 * baryon, 0, t)))
          << t << C.at(2 * baryon, 0, t) << C.at(2 * baryon + 1, 0, 8 - t);
    for (const int state : {0, 1})
      EXPECT_LT(std::abs(forward.at(state, 0, t) + backward.at(state, 0, 8 - t)),
                1e-10 * std::abs(forward.at(state, 0, t)))
          << t << forward.at(state, 0, t) << backward.at(state, 0, 8 - t);
  }
}

}  // namespace in_test_baryons
}  // namespace trellis
