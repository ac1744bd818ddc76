// timeout: 600
/// Propagators and correlators agree with those of other programs: lalibe (double) and Chroma (single
/// precision) on field A.
#include <gtest/gtest.h>

#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_external_propagators {

using Correlator = std::vector<std::complex<double>>;
const GaussianSmearing shell{2.0, 5};

enum class Method { cg, multigrid };

struct FieldA {
  Method method = Method::cg;
  LatticePtr lattice = make_lattice({4, 4, 4, 8});
  GaugeField U = test::to_product(lattice, test::field_A());

  Propagator solve(const WilsonParams& params, const Coord& at, double tolerance) const {
    const auto matrix = std::make_shared<WilsonMatrix>(U, params, KernelChoice{});
    const Propagator S =
        solve_propagator(matrix, solver(matrix, tolerance), smeared(point_source(lattice, at), U, shell));
    EXPECT_TRUE(S.report().converged) << S.report().summary();
    EXPECT_TRUE(S.report().stages.empty()) << S.report().summary();
    return S;
  }
  SolverSpec solver(const WilsonMatrixPtr& matrix, double tolerance) const {
    if (method == Method::cg) return EvenOddSpec{CgSpec{.tolerance = tolerance}};
    return MultigridSpec{.multigrid = Multigrid::make(WilsonOperator(matrix), {}), .tolerance = tolerance};
  }
};

WilsonParams lalibe_clover(double mass) {
  WilsonParams p;
  p.mass = mass;
  p.csw_spatial = p.csw_temporal = 1.17;
  return p;
}

class ExternalPropagatorsBy : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Solvers, ExternalPropagatorsBy, testing::Values(Method::cg, Method::multigrid),
                         [](const auto& info) {
                           return std::string(info.param == Method::cg ? "cg" : "multigrid");
                         });

TEST_P(ExternalPropagatorsBy, whole_propagator_of_lalibe) {
  TRELLIS_NEEDS_DATA();
  const FieldA field{.method = GetParam()};
  const Propagator S = field.solve(lalibe_clover(0.1), {0, 0, 0, 4}, 1e-13);
  Correlator array(Propagator::canonical_size(S.geometry()));
  S.to_canonical(array.data());
  const auto expected =
      test::read_hdf5_complex(test::data_file("lalibe/test_propagator_t4.h5"), "/sh_sig2p0_n5/PS_up_4");
  ASSERT_EQ(expected.size(), array.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < array.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    worst = std::max(worst, std::abs(array[i] - expected[i]));
  }
  RecordProperty("relative_deviation", message(worst / largest));
  EXPECT_LT(worst, 1e-10 * largest) << "deviation " << worst / largest << " of the largest entry";
}

/// lalibe's phase is exp(+i p x): its px1 is our momentum n = -1.
Correlator lalibe(const std::string& sink, const std::string& hadron, const Momentum& n) {
  return test::read_hdf5_complex(
      test::data_file("lalibe/lalibe_2pt_spectrum.h5"),
      message("/", sink, "/", hadron, "/x0_y0_z0_t0/px", -n[0], "_py", -n[1], "_pz", -n[2]));
}

/// Returns the largest deviation, in units of the correlator at zero momentum: the terms of a time slice are
/// that large.
double deviation(const CorrelatorTable& C, int row, double norm, const std::string& sink,
                 const std::string& hadron, const Momenta& momenta) {
  const Correlator at_rest = lalibe(sink, hadron, momenta.front());
  double worst = C.times == int(at_rest.size()) ? 0.0 : INFINITY;
  for (int p = 0; p < C.momenta; ++p) {
    const Correlator expected = lalibe(sink, hadron, momenta[size_t(p)]);
    for (size_t t = 0; t < expected.size(); ++t)
      worst = std::max(worst, std::abs(norm * C.at(row, p, int(t)) - expected[t]) / std::abs(at_rest[t]));
  }
  return worst;
}

/// lalibe's Sigma+ and Xi0 carry 4/3 of the norm of its proton.
const struct {
  const char *ours, *theirs;
  double norm;
} baryons[] = {{"proton", "proton", 1.0},
               {"sigma_plus", "sigma_p", 4.0 / 3},
               {"xi_zero", "xi_z", 4.0 / 3},
               {"lambda", "lambda_z", 1.0},
               {"delta_plus_plus", "delta_pp", 1.0},
               {"omega_minus", "omega_m", 1.0},
               {"sigma_star_plus", "sigma_star_p", 1.0},
               {"xi_star_zero", "xi_star_z", 1.0}};

std::string lalibe_spin(int twice_spin) {
  return twice_spin == 3    ? "/spin_upup"
         : twice_spin == 1  ? "/spin_up"
         : twice_spin == -1 ? "/spin_dn"
                            : "/spin_dndn";
}

TEST(ExternalPropagators, spectrum_of_lalibe_with_seven_momenta) {
  TRELLIS_NEEDS_DATA();
  const FieldA field;
  std::vector<Propagator> quarks[2];  // they have point and smeared sinks
  for (const double mass : {0.1, 0.2, 0.6}) {
    quarks[0].push_back(field.solve(lalibe_clover(mass), {0, 0, 0, 0}, 1e-13));
    quarks[1].push_back(sink_smeared(quarks[0].back(), field.U, shell));
  }
  const Momenta momenta = momenta_up_to(1);
  ASSERT_EQ(momenta.size(), 7u);
  for (const int smeared_sink : {0, 1}) {
    const std::string sink = smeared_sink ? "SS" : "PS";
    const auto& q = quarks[smeared_sink];
    const auto pion = meson_correlator(q[0], q[1], "gamma5", "gamma5", momenta);
    const auto kaon = meson_correlator(q[0], q[2], "gamma5", "gamma5", momenta);
    const double of_mesons = std::max(deviation(pion, 0, 1.0, sink, "piplus", momenta),
                                      deviation(kaon, 0, 1.0, sink, "kplus", momenta));
    EXPECT_LT(of_mesons, 1e-11) << sink;
    RecordProperty(sink + "_mesons", message(of_mesons));
    double of_baryons = 0;
    for (const int parity : {1, -1})
      for (const auto& b : baryons) {
        const auto states = baryon_states({b.ours});
        const auto C = projected_correlators({&q[0], &q[1], &q[2]}, states, momenta, parity);
        for (size_t row = 0; row < states.size(); ++row) {
          const std::string name =
              std::string(b.theirs) + (parity < 0 ? "_np" : "") + lalibe_spin(states[row].twice_spin);
          const double worst = deviation(C, int(row), b.norm, sink, name, momenta);
          EXPECT_LT(worst, 1e-10) << sink << " " << name;
          of_baryons = std::max(of_baryons, worst);
        }
      }
    RecordProperty(sink + "_baryons", message(of_baryons));
  }
}

void expect_chroma(const std::string& file, const WilsonParams& params, Method method) {
  const FieldA field{.method = method};
  const auto C = propagator_norm(field.solve(params, {0, 0, 0, 0}, 1e-11));
  const auto expected = test::xml_numbers(test::data_file(file), "prop_corr");
  ASSERT_EQ(expected.size(), C.size());
  for (size_t t = 0; t < C.size(); ++t)  // Chroma ran in single precision
    EXPECT_LT(test::relative_error(C[t], expected[t]), 1e-6) << "t = " << t;
}

TEST_P(ExternalPropagatorsBy, anisotropic_wilson_of_chroma) {
  TRELLIS_NEEDS_DATA();
  WilsonParams p;
  p.mass = kappa_to_mass(0.135);
  p.nu = 0.95;
  p.xi0 = 2.464;
  expect_chroma("chroma/unprec_wilson.out.xml", p, GetParam());
}

TEST_P(ExternalPropagatorsBy, anisotropic_clover_of_chroma) {
  TRELLIS_NEEDS_DATA();
  WilsonParams p;
  p.mass = kappa_to_mass(0.115);
  p.nu = 0.95;
  p.xi0 = 2.464;
  p.csw_spatial = 0.91;
  p.csw_temporal = 1.07;
  expect_chroma("chroma/unprec_clover.out.xml", p, GetParam());
}

}  // namespace in_test_external_propagators
}  // namespace trellis
