// timeout: 900
/// Reference hadron correlators agree with lalibe and gold numbers.
#include <gtest/gtest.h>

#include "reference/baryons.hpp"
#include "reference/sources.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"

namespace trellis::reference {
namespace in_test_reference_baryons {

using Correlator = std::vector<std::complex<double>>;

/// Bounds |C - expected| on every time slice, relative to the slice.
void expect_close(const Correlator& C, const Correlator& expected, double tolerance,
                  const std::string& name) {
  ASSERT_EQ(C.size(), expected.size()) << name;
  for (size_t t = 0; t < C.size(); ++t)
    EXPECT_LT(test::relative_error(C[t], expected[t]), tolerance)
        << name << ", t = " << t << ": " << C[t] << " for " << expected[t];
}

Correlator half_sum(const Correlator& a, const Correlator& b, double sign, double factor) {
  Correlator r(a.size());
  for (size_t t = 0; t < a.size(); ++t) r[t] = factor * (a[t] + sign * b[t]);
  return r;
}

/// Returns S_FH = S Gamma S summed over all sites: the propagator with Gamma S as its source.
Propagator feynman_hellmann(const WilsonOperator& D, const GammaMatrix& gamma, const Propagator& S) {
  Propagator source = S;
  for (auto& column : source.columns) column = multiply(gamma, column);
  return propagator(D, source);
}

/// Returns d/d lambda at 0 of the nucleon with S_flavour -> S + lambda F: central differences are exact,
/// since it is a polynomial of degree two.
Correlator replaced_in_turn(DiquarkForm form, const SpinMatrix& P, std::vector<Propagator> quarks,
                            size_t flavour, const Propagator& F) {
  Correlator side[2];
  const Propagator S = quarks[flavour];
  for (size_t i = 0; i < 2; ++i) {
    quarks[flavour] = S;
    for (size_t column = 0; column < 12; ++column)
      add_scaled(quarks[flavour].columns[column], i == 0 ? 1.0 : -1.0, F.columns[column]);
    side[i] = octet_two_point(form, 0, 1, P, quarks);
  }
  return half_sum(side[0], side[1], -1, 0.5);
}

/// Checks everything of gold.json on the nucleon, for one boundary condition in time.
void expect_nucleon_of_gold(const std::string& id, std::complex<double> boundary) {
  const auto& expected = test::gold(id);
  const Gauge U = test::field_F4();
  BoundaryPhases phases = antiperiodic_in_time;
  phases[3] = boundary;
  const WilsonOperator D(U, wilson_clover(mass_of_kappa(0.13), 1.0, phases));
  const Propagator S = propagator(D, point_source(U.extents, {0, 0, 0, 0}));
  const Propagator V4 = feynman_hellmann(D, gamma_mu(3), S);
  const Propagator A3 = feynman_hellmann(D, gamma_mu(2) * gamma_product(15), S);
  for (const auto& [form, name] : {std::pair{DiquarkForm::full, "full"}, {DiquarkForm::projected, "nr"}})
    for (const auto& [P, suffix] : {std::pair{unpolarised_projector(), ""}, {polarised_projector(), "_Sz"}}) {
      auto check = [&](const std::string& key, const Correlator& C) {
        // Small imaginary parts and differences are relative to the unpolarised correlator's own size.
        const Correlator wanted = test::gold_complex_list(expected.at(key + name + suffix));
        const Correlator scale = test::gold_complex_list(expected.at(std::string("C2_") + name));
        for (size_t t = 0; t < C.size(); ++t)
          EXPECT_LT(std::abs(C[t] - wanted[t]), 1e-10 * std::max(std::abs(scale[t]), std::abs(wanted[t])))
              << id << " " << key << name << suffix << ", t = " << t << ": " << C[t] << " for " << wanted[t];
      };
      const std::vector<Propagator> quarks{S, S};
      check("C2_", octet_two_point(form, 0, 1, P, quarks));
      check("V4_UU_", replaced_in_turn(form, P, quarks, 0, V4));
      check("V4_DD_", replaced_in_turn(form, P, quarks, 1, V4));
      check("A3_UU_", replaced_in_turn(form, P, quarks, 0, A3));
      check("A3_DD_", replaced_in_turn(form, P, quarks, 1, A3));
    }
}

TEST(ReferenceBaryons, nucleon_and_feynman_hellmann_of_gold_antiperiodic) {
  TRELLIS_NEEDS_DATA();
  expect_nucleon_of_gold("nucleon.F4.k0.13.c1.apbc", -1.0);
}

TEST(ReferenceBaryons, nucleon_and_feynman_hellmann_of_gold_dirichlet) {
  TRELLIS_NEEDS_DATA();
  expect_nucleon_of_gold("nucleon.F4.k0.13.c1.dirichlet_t", 0.0);
}

/// Field A has lalibe's quarks u, d, s of mass .1, .2, .6 with csw 1.17 and a Gaussian (2, 5) source at the
/// origin.
const std::vector<Propagator>& lalibe_quarks() {
  static const std::vector<Propagator> quarks = [] {
    const Gauge U = test::field_A();
    const Propagator source = gaussian_smeared(U, point_source(U.extents, {0, 0, 0, 0}), 2.0, 5);
    std::vector<Propagator> list;
    for (const double mass : {0.1, 0.2, 0.6})
      list.push_back(propagator(WilsonOperator(U, wilson_clover(mass, 1.17)), source));
    return list;
  }();
  return quarks;
}

/// lalibe's phase is exp(+i p x): its px1 is our momentum n = -1.
Correlator lalibe(const std::string& sink, const std::string& hadron, const std::array<int, 3>& n) {
  const std::string momentum = message("/x0_y0_z0_t0/px", -n[0], "_py", -n[1], "_pz", -n[2]);
  return test::read_hdf5_complex(test::data_file("lalibe/lalibe_2pt_spectrum.h5"),
                                 "/" + sink + "/" + hadron + momentum);
}

/// lalibe's Sigma+ and Xi0 carry 4/3 of the norm of its proton; all other norms are those of baryons.hpp.
TEST(ReferenceBaryons, mesons_and_baryons_of_lalibe) {
  TRELLIS_NEEDS_DATA();
  const std::vector<Propagator>& quarks = lalibe_quarks();
  const GammaMatrix gamma5 = gamma_product(15);
  const int u = 0, d = 1, s = 2;
  auto check = [&](const BaryonOperator& B, double norm, const std::string& name,
                   const std::array<int, 3>& n) {
    TwoPointOptions options;
    options.momentum = n;
    Correlator C = baryon_correlator(B, B, quarks, options);
    for (auto& c : C) c *= norm;
    expect_close(C, lalibe("PS", name, n), 1e-8, name);  // its solver stopped at 1e-12 of the source
  };
  for (const std::array<int, 3> n : {std::array{0, 0, 0}, {1, 0, 0}, {0, -1, 0}}) {
    expect_close(meson(quarks[0], quarks[1], gamma5, gamma5, n), lalibe("PS", "piplus", n), 1e-9, "piplus");
    expect_close(meson(quarks[0], quarks[2], gamma5, gamma5, n), lalibe("PS", "kplus", n), 1e-9, "kplus");
    for (const bool is_up : {true, false}) {
      const std::string spin = is_up ? "/spin_up" : "/spin_dn";
      check(projected_octet(u, d, is_up), 1, "proton" + spin, n);
      check(projected_octet(u, s, is_up), 4.0 / 3, "sigma_p" + spin, n);
      check(projected_octet(s, u, is_up), 4.0 / 3, "xi_z" + spin, n);
      check(projected_lambda(u, d, s, is_up), 1, "lambda_z" + spin, n);
    }
    for (const auto& [twice_spin, spin] :
         {std::pair{3, "/spin_upup"}, {1, "/spin_up"}, {-1, "/spin_dn"}, {-3, "/spin_dndn"}}) {
      check(projected_decuplet(u, u, twice_spin), 1, std::string("delta_pp") + spin, n);
      check(projected_decuplet(s, s, twice_spin), 1, std::string("omega_m") + spin, n);
      check(projected_decuplet(u, s, twice_spin), 1, std::string("sigma_star_p") + spin, n);
      check(projected_decuplet(s, u, twice_spin), 1, std::string("xi_star_z") + spin, n);
    }
  }
}

/// The same holds with smeared sinks: the propagators are smeared on each time slice.
TEST(ReferenceBaryons, smeared_sinks_of_lalibe) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_A();
  std::vector<Propagator> quarks = lalibe_quarks();
  for (Propagator& S : quarks) S = gaussian_smeared(U, S, 2.0, 5);
  const GammaMatrix gamma5 = gamma_product(15);
  const std::array<int, 3> zero{0, 0, 0};
  expect_close(meson(quarks[0], quarks[1], gamma5, gamma5), lalibe("SS", "piplus", zero), 1e-9, "piplus");
  const BaryonOperator up = projected_octet(0, 1, true);
  expect_close(baryon_correlator(up, up, quarks), lalibe("SS", "proton/spin_up", zero), 1e-8, "proton");
}

/// lalibe's Feynman-Hellmann proton has the local current gamma_t: UU, each u line replaced in turn, and DD.
TEST(ReferenceBaryons, feynman_hellmann_proton_of_lalibe) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_A();
  std::vector<Propagator> quarks = lalibe_quarks();
  quarks.pop_back();
  for (const size_t flavour : {size_t(0), size_t(1)}) {
    const WilsonOperator D(U, wilson_clover(flavour == 0 ? 0.1 : 0.2, 1.17));
    const Propagator F = feynman_hellmann(D, gamma_mu(3), quarks[flavour]);
    const Correlator sum =
        replaced_in_turn(DiquarkForm::projected, unpolarised_projector(), quarks, flavour, F);
    const Correlator dif =
        replaced_in_turn(DiquarkForm::projected, polarised_projector(), quarks, flavour, F);
    const std::string group = flavour == 0 ? "/PS/fh_proton_V4_UU" : "/PS/fh_proton_V4_DD";
    const std::string path = test::data_file("lalibe/lalibe_fh_proton_V4.h5"),
                      at = "/x0_y0_z0_t0/px0_py0_pz0";
    expect_close(half_sum(sum, dif, 1, 0.25), test::read_hdf5_complex(path, group + "/spin_up" + at), 1e-8,
                 group);
    expect_close(half_sum(sum, dif, -1, 0.25), test::read_hdf5_complex(path, group + "/spin_dn" + at), 1e-8,
                 group);
  }
}

/// The octet with a diquark and spin projection is the one of projected quarks: C2 = 2 (up + down) and C2_Sz
/// = 2 (up - down); this also holds for a source away from the origin, where times wrap around.
TEST(ReferenceBaryons, two_forms_of_the_projected_nucleon_agree) {
  const Gauge U = test::random_gauge({2, 2, 2, 4}, 31, 1.0);
  const Coord at{1, 0, 1, 3};
  std::vector<Propagator> quarks;
  for (const double mass : {0.3, 0.5})
    quarks.push_back(propagator(WilsonOperator(U, wilson_clover(mass, 1.0)), point_source(U.extents, at)));
  TwoPointOptions options;
  options.source_at = at;
  options.momentum = {1, 0, 0};
  const BaryonOperator up = projected_octet(0, 1, true), down = projected_octet(0, 1, false);
  const Correlator C_up = baryon_correlator(up, up, quarks, options);
  const Correlator C_down = baryon_correlator(down, down, quarks, options);
  const SpinMatrix P = unpolarised_projector(), Pz = polarised_projector();
  expect_close(octet_two_point(DiquarkForm::projected, 0, 1, P, quarks, options),
               half_sum(C_up, C_down, 1, 2), 1e-11, "sum");
  expect_close(octet_two_point(DiquarkForm::projected, 0, 1, Pz, quarks, options),
               half_sum(C_up, C_down, -1, 2), 1e-10, "difference");
}

}  // namespace in_test_reference_baryons
}  // namespace trellis::reference
