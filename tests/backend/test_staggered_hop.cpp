/// The staggered hop and the operators built on it equal reference/, and have the same bits for every lane
/// count and for the GPU layout.
#include <gtest/gtest.h>

#include "tests/support/column_sums.hpp"
#include "tests/support/staggered_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"

namespace trellis {
namespace in_test_staggered_hop {

struct Physics {
  const char* name;
  StaggeredPhases phases;
};

std::vector<Physics> all_physics() {
  StaggeredPhases plain, potential, flux, boundary;
  potential.mu_over_ipiT = 0.3;
  flux.mu_over_ipiT = -0.7;
  flux.flux = {2, -1, 3, 1, -2, 1};
  boundary.boundary = {std::polar(1.0, 0.3), -1.0, {0.0, 1.0}, std::polar(1.0, 2.0)};
  return {{"plain", plain}, {"potential", potential}, {"flux", flux}, {"boundary", boundary}};
}

class StaggeredHopTest : public ::testing::TestWithParam<Coord> {
 protected:
  LatticePtr lattice = make_lattice(GetParam());
  reference::Gauge U = test::random_gauge(GetParam(), 31);
  GaugeField links = test::to_product(lattice, U);
  reference::ColorVectors psi = test::random_vectors(GetParam(), 32);
  static constexpr double mass = 0.17;

  std::vector<double> apply(const StaggeredPhases& phases, const KernelChoice& choice, int rhs = 1) {
    const auto shared = std::make_shared<StaggeredLinks>(links, choice);
    const StaggeredOperator M(std::make_shared<StaggeredMatrix>(shared, phases, mass, choice.precision));
    SpinorField in = M.make_field(rhs), out = M.make_field(rhs);
    for (int r = 0; r < rhs; ++r) test::to_product(in, psi, r);
    M.apply(out, in);
    const auto first = test::canonical_part(out, 0);
    for (int r = 1; r < rhs; ++r) EXPECT_EQ(first, test::canonical_part(out, r)) << "right-hand side " << r;
    return first;
  }
};

TEST_P(StaggeredHopTest, equals_reference_in_every_storage) {
  for (const Physics& p : all_physics()) {
    const auto theta = reference::staggered_theta(GetParam(), test::to_reference(p.phases));
    const auto expected = reference::staggered_apply(U, theta, mass, psi);
    for (const int link_reals : {18, 12}) {
      KernelChoice choice;
      choice.link_reals = link_reals;
      EXPECT_LT(test::relative_error(apply(p.phases, choice), expected), test::rounding(50)) << p.name;
      choice.precision = Precision::single_precision;
      EXPECT_LT(test::relative_error(apply(p.phases, choice), expected), test::rounding<float>(50)) << p.name;
      // In 16 bits, links and the vectors in and out each round to half a unit of 1/32767 of the largest
      // component.
      choice.precision = Precision::half_precision;
      EXPECT_LT(test::relative_error(apply(p.phases, choice), expected), 10.0 / 32767) << p.name;
      choice.precision = Precision::fp16_precision;
      EXPECT_LT(test::relative_error(apply(p.phases, choice), expected), 2.0 / 2048) << p.name;
    }
  }
}

TEST_P(StaggeredHopTest, has_the_same_bits_for_every_lane_count_and_layout) {
  for (const Physics& p : all_physics())
    for (const Precision precision : all_precisions)
      for (const int link_reals : {18, 12}) {
        const auto expected = apply(p.phases, {precision, link_reals, Backend::cpu, 1});
        for (const int lanes : {4, 8, 16})
          EXPECT_EQ(expected,
                    apply(p.phases, {precision, link_reals, Backend::cpu, lanes}, lanes == 8 ? 3 : 1))
              << p.name << " " << name_of(precision) << " " << link_reals << " lanes " << lanes;
        EXPECT_EQ(expected, apply(p.phases, {precision, link_reals, Backend::gpu_emulated, 1}, 2))
            << p.name << " " << name_of(precision) << " " << link_reals << " GPU layout";
      }
}

/// The bits are the same where links that lead to a site lie beside its own, in all storages and after an
/// update.
TEST_P(StaggeredHopTest, back_links_change_no_bit) {
  const StaggeredPhases phases = all_physics()[2].phases;
  const bool has_room = *std::min_element(GetParam().begin(), GetParam().end()) >= 4;
  for (const Precision precision : all_precisions)
    for (const bool is_improved : {false, true})
      for (const int lanes : {0, 1, 4}) {
        if (is_improved && !has_room) continue;
        const KernelChoice choice{precision, is_improved ? 18 : 12, Backend::cpu, lanes};
        std::vector<double> expected;
        for (const BackLinks back : {BackLinks::none, BackLinks::kept}) {
          const auto shared = is_improved
                                  ? std::make_shared<StaggeredLinks>(links, GaugeField(lattice), -1.0 / 24,
                                                                     true, choice, back)
                                  : std::make_shared<StaggeredLinks>(GaugeField(lattice), choice, back);
          if (is_improved)
            shared->update(links, links);
          else
            shared->update(links);
          const StaggeredOperator M(std::make_shared<StaggeredMatrix>(shared, phases, mass, precision));
          SpinorField in = M.make_field(3), out = M.make_field(3);
          for (int r = 0; r < 3; ++r) test::to_product(in, psi, r);
          M.apply(out, in);
          EXPECT_EQ(test::canonical_part(out, 0), test::canonical_part(out, 2));
          if (back == BackLinks::none) expected = test::canonical_part(out, 0);
          EXPECT_EQ(test::canonical_part(out, 0), expected)
              << name_of(precision) << ", improved " << is_improved << ", lanes " << lanes;
        }
      }
}

TEST_P(StaggeredHopTest, hopping_is_antihermitian) {
  const auto chi = test::random_vectors(GetParam(), 33);
  const auto shared = std::make_shared<StaggeredLinks>(links);
  for (const Physics& p : all_physics()) {
    const StaggeredOperator M(std::make_shared<StaggeredMatrix>(shared, p.phases, mass));
    SpinorField a = M.make_field(), b = M.make_field(), Ma = M.make_field(), Mb = M.make_field();
    test::to_product(a, psi);
    test::to_product(b, chi);
    M.apply(Ma, a);
    M.apply_dagger(Mb, b);
    EXPECT_LT(std::abs(dot(b, Ma) - dot(Mb, a)), test::rounding(100) * std::sqrt(norm2(b) * norm2(Ma)))
        << p.name;
    // The relation epsilon M epsilon = M^dagger changes the sign of the odd sites.
    SpinorField odd = a;
    combine(Ma, 1.0, Ma, -mass, a);  // this is D a
    M.apply_dagger(Mb, a);
    combine(Mb, 1.0, Mb, -mass, a);  // this is -D a
    combine(Ma, 1.0, Ma, 1.0, Mb);
    EXPECT_LT(norm2(Ma), norm2(Mb) * std::pow(test::rounding(10), 2)) << p.name;
  }
}

TEST_P(StaggeredHopTest, is_gauge_covariant) {
  const auto g = test::random_transformation(GetParam(), 34);
  reference::ColorVectors rotated(psi.size());
  for (size_t x = 0; x < psi.size(); ++x) rotated[x] = g[x] * psi[x];
  const auto shared = std::make_shared<StaggeredLinks>(
      test::to_product(lattice, reference::gauge_transformed(U, g)), KernelChoice{});
  for (const Physics& p : all_physics()) {
    const auto before = apply(p.phases, {});
    reference::ColorVectors expected(psi.size());
    std::memcpy(expected.data(), before.data(), before.size() * sizeof(double));
    for (size_t x = 0; x < psi.size(); ++x) expected[x] = g[x] * expected[x];
    const StaggeredOperator M(std::make_shared<StaggeredMatrix>(shared, p.phases, mass));
    SpinorField in = M.make_field(), out = M.make_field();
    test::to_product(in, rotated);
    M.apply(out, in);
    EXPECT_LT(test::relative_error(test::canonical_part(out), expected), test::rounding(100)) << p.name;
  }
}

TEST_P(StaggeredHopTest, even_sites_reproduce_the_full_operator) {
  const auto shared = std::make_shared<StaggeredLinks>(links);
  for (const Physics& p : all_physics()) {
    const auto matrix = std::make_shared<StaggeredMatrix>(shared, p.phases, mass);
    const StaggeredOperator M(matrix);
    const StaggeredSchur S(matrix);
    SpinorField x = M.make_field(), b = M.make_field(), c = M.make_field(), rebuilt = M.make_field();
    test::to_product(x, psi);
    M.apply(b, x);
    M.apply_dagger(c, b);
    SpinorField xe = S.make_field(), source = S.make_field(), Sx = S.make_field(), ce = S.make_field();
    extract_parity(xe, x);
    extract_parity(ce, c);
    S.apply(Sx, xe);
    combine(ce, 1.0, ce, -1.0, Sx);
    EXPECT_LT(std::sqrt(norm2(ce) / norm2(Sx)), test::rounding(50)) << p.name;
    S.prepare_source(source, b);
    combine(Sx, 1.0, Sx, -1.0, source);
    EXPECT_LT(std::sqrt(norm2(Sx) / norm2(source)), test::rounding(200)) << p.name;
    S.reconstruct(rebuilt, xe, b);
    combine(rebuilt, 1.0, rebuilt, -1.0, x);
    EXPECT_LT(std::sqrt(norm2(rebuilt) / norm2(x)), test::rounding(200)) << p.name;
  }
}

/// The energy that the second hop sums has the bits of the sum as a pass of its own, with and without lanes.
TEST_P(StaggeredHopTest, energies_have_the_bits_of_a_separate_sum) {
  for (const Precision precision : all_precisions) {
    std::vector<double> first;
    for (const KernelChoice& choice :
         {KernelChoice{precision, 12, Backend::cpu, 1}, KernelChoice{precision, 12, Backend::cpu, 8},
          KernelChoice{precision, 12, Backend::cpu, 0},
          KernelChoice{precision, 12, Backend::gpu_emulated, 1}})
      for (const int rhs : {1, 2, 3}) {
        const auto shared = std::make_shared<StaggeredLinks>(links, choice);
        const StaggeredSchur S(
            std::make_shared<StaggeredMatrix>(shared, all_physics()[2].phases, mass, precision), 0.3);
        SpinorField x = S.make_field(rhs), with = S.make_field(rhs), without = S.make_field(rhs);
        for (int r = 0; r < rhs; ++r) test::to_product(x, psi, r);
        const std::vector<double> energies = test::apply_with_real_dot(S, with, x);
        S.apply(without, x);
        EXPECT_EQ(energies, real_dot_each(x, without));
        EXPECT_EQ(test::canonical_part(with, rhs - 1), test::canonical_part(without, rhs - 1));
        const ComplexCoefficients both = dot_each(x, without);
        for (int r = 0; r < rhs; ++r) EXPECT_EQ(energies[size_t(r)], both[size_t(r)].real());
        if (first.empty()) first = energies;
        EXPECT_EQ(energies[0], first[0]) << name_of(precision) << ", " << rhs << " right-hand sides";
      }
  }
}

/// In M e^{ipx} v = (m + i sum_mu eta_mu sin p_mu) ... momenta couple; D^2 is diagonal: it is -sum_mu sin^2
/// p_mu.
TEST_P(StaggeredHopTest, plane_waves_on_unit_links) {
  const Coord& L = GetParam();
  const auto shared = std::make_shared<StaggeredLinks>(GaugeField(lattice));
  const auto matrix = std::make_shared<StaggeredMatrix>(shared, StaggeredPhases{}, mass);
  const StaggeredSchur S(matrix);
  Coord n{1, 0, 1, 1};
  double energy = mass * mass;
  std::array<double, Nd> p;
  for (size_t mu = 0; mu < Nd; ++mu) {
    p[mu] = (2 * M_PI * (n[mu] % L[mu]) + (mu == 3 ? M_PI : 0.0)) / L[mu];
    energy += std::sin(p[mu]) * std::sin(p[mu]);
  }
  reference::ColorVectors wave(size_t(product(L)));
  for (int64_t site = 0; site < product(L); ++site) {
    const Coord x = site_coord(site, L);
    double angle = 0;
    for (size_t mu = 0; mu < Nd; ++mu) angle += p[mu] * x[mu];
    wave[size_t(site)].c[1] = {std::cos(angle), std::sin(angle)};
    wave[size_t(site)].c[0] = wave[size_t(site)].c[2] = {0, 0};
  }
  SpinorField in = S.make_field(), out = S.make_field();
  test::to_product(in, wave);
  S.apply(out, in);
  combine(out, 1.0, out, -energy, in);
  EXPECT_LT(std::sqrt(norm2(out) / norm2(in)), test::rounding(100));
}

INSTANTIATE_TEST_SUITE_P(Lattices, StaggeredHopTest,
                         ::testing::Values(Coord{4, 4, 4, 4}, Coord{2, 4, 6, 8}, Coord{8, 4, 2, 6},
                                           Coord{2, 2, 2, 2}, Coord{12, 4, 8, 4}),
                         [](const auto& info) { return to_string(info.param); });

TEST(StaggeredHop, refuses_what_is_not_legal) {
  const auto lattice = make_lattice({4, 4, 4, 4});
  GaugeField U(lattice);
  StaggeredPhases phases;
  phases.boundary[1] = 0.5;
  const auto links = std::make_shared<StaggeredLinks>(U);
  EXPECT_THROW(StaggeredMatrix(links, phases, 0.1), BadArgument);
  EXPECT_THROW(StaggeredMatrix(links, {}, std::nan("")), BadArgument);
  Link scaled = U.link({0, 0, 0, 0}, 0);
  scaled[0] = 2.0;
  U.set_link({0, 0, 0, 0}, 0, scaled);
  KernelChoice compressed;
  compressed.link_reals = 12;
  EXPECT_THROW(StaggeredLinks(U, compressed), BadArgument);
}

}  // namespace in_test_staggered_hop
}  // namespace trellis
