/// Fat and long links agree with reference/ and with MILC's asqtad files and their inverses, the derivative
/// through both levels of HISQ with differences, and the HISQ operator with hops of long links.
#include <gtest/gtest.h>

#include "reference/fat_links.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/staggered_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/io/site_field_file.hpp"
#include "trellis/operator/staggered_derivative.hpp"

namespace trellis {
namespace in_test_hisq {

using test::rounding;

double largest_difference(const GaugeField& a, const reference::Gauge& b) {
  std::vector<double> values(a.canonical_size());
  a.to_canonical(values.data());
  double worst = 0;
  const double* expected = reinterpret_cast<const double*>(b.links.data());
  for (size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(values[i] - expected[i]));
  return worst;
}

TEST(FatLinks, equal_reference_path_by_path) {
  for (const Coord L : {Coord{4, 6, 4, 4}, Coord{2, 4, 8, 2}}) {
    const auto U = test::random_gauge(L, 61);
    const GaugeField field = test::to_product(make_lattice(L), U);
    EXPECT_LT(largest_difference(fat_links(field, {0.3, -0.2, 0.15, 0.1, -0.35}),
                                 reference::fat_links(U, {0.3, -0.2, 0.15, 0.1, -0.35})),
              rounding(300));
    EXPECT_LT(largest_difference(long_links(field), reference::long_links(U)), rounding(20));
    const auto V = reference::fat_links(U, {1.0 / 8, 1.0 / 16, 1.0 / 64, 1.0 / 384, 0});
    const auto W = reference::projected_to_u3(V);
    const HisqLinks hisq(field);
    // Rounding grows with the inverse of the smallest singular value of V.
    EXPECT_LT(largest_difference(hisq.projected(), W), 1e-11);
    EXPECT_LT(largest_u3_violation(hisq.projected()), rounding(20));
    EXPECT_GT(largest_su3_violation(hisq.projected()), 0.1);
    const auto X = reference::fat_links(W, {1 + 0.2 / 8, 1.0 / 16, 1.0 / 64, 1.0 / 384, -1.0 / 8});
    EXPECT_LT(largest_difference(hisq.fat(0.2), X), 1e-10);
  }
}

TEST(FatLinks, of_unit_links_are_unit_links) {
  const GaugeField U(make_lattice({4, 4, 4, 4}));
  const auto unit = reference::unit_gauge({4, 4, 4, 4});
  EXPECT_LT(largest_difference(fat_links(U, fat7_coefficients()), unit), rounding(10));
  auto scaled = unit;
  for (auto& link : scaled.links) link = (9.0 / 8) * link;  // this is 1 + 3 / 24 with the long links
  EXPECT_LT(largest_difference(fat_links(U, hisq_coefficients()), scaled), rounding(20));
}

/// Returns the phases of MILC's files: eta_t = 1, eta_x = (-1)^t, eta_y = (-1)^(t+x), eta_z = (-1)^(t+x+y),
/// antiperiodic in t.
double milc_phase(const Coord& x, int mu, int distance, const Coord& L) {
  const int exponent = mu == 3 ? 0 : mu == 0 ? x[3] : mu == 1 ? x[3] + x[0] : x[3] + x[0] + x[1];
  const bool wraps = mu == 3 && x[3] + distance >= L[3];
  return (exponent % 2 ? -1.0 : 1.0) * (wraps ? -1.0 : 1.0);
}

TEST(Asqtad, equals_milc) {
  TRELLIS_NEEDS_DATA();
  const Coord L{8, 8, 8, 8};
  const auto lattice = make_lattice(L);
  GaugeField U(lattice);
  read_gauge_field(test::data_file("milc/lat.sample.l8"), U);
  const double u0 = 0.502;
  GaugeField fat = fat_links(U, asqtad_coefficients(u0)), far = long_links(U);
  double worst[2] = {}, size[2] = {};
  for (const int which : {0, 1}) {
    std::vector<double> file(size_t(lattice->volume()) * 72);
    read_site_field(test::data_file(which == 0 ? "milc/fat.l8" : "milc/long.l8"), *lattice, file.data(), 72);
    GaugeField& links = which == 0 ? fat : far;
    const double coefficient = which == 0 ? 1.0 : asqtad_long_coefficient(u0);
    for (int64_t site = 0; site < lattice->volume(); ++site)
      for (int mu = 0; mu < Nd; ++mu) {
        const Coord x = site_coord(site, L);
        const double phase = milc_phase(x, mu, which == 0 ? 1 : 3, L);
        Link link = links.link(x, mu);
        for (size_t k = 0; k < 9; ++k) {
          link[k] *= coefficient * phase;
          const size_t at = size_t(4 * site + mu) * 18 + 2 * k;
          worst[which] =
              std::max(worst[which], std::abs(link[k] - std::complex<double>(file[at], file[at + 1])));
          size[which] = std::max(size[which], std::abs(link[k]));
        }
        links.set_link(x, mu, link);
      }
    links.halo_is_stale();
  }
  // The files are in single precision.
  EXPECT_LT(worst[0], 1e-6 * size[0]);
  EXPECT_LT(worst[1], 1e-6 * size[1]);

  // The test covers (2m + D') ans = src and its normal equations, with the phases in the links.
  const auto links = std::make_shared<StaggeredLinks>(fat, far, 1.0, false);
  const StaggeredHopping hopping(links, {}, Precision::double_precision);
  const auto one = [](double sign) {
    return [sign](const Coord&, int) { return std::complex<double>(sign); };
  };
  const HopTables tables = hopping.make_tables({one(1), one(-1)}, {one(1), one(-1)});
  const auto vector_of = [&](const char* name) {
    std::vector<double> values(size_t(lattice->volume()) * 6);
    read_site_field(test::data_file(name), *lattice, values.data(), 6);
    SpinorField field = hopping.make_field(Subset::full, 1);
    field.from_canonical(values.data());
    return field;
  };
  const auto twice_M = [&](const SpinorField& in, double sign) {
    SpinorField out = SpinorField::like(in);
    for (int parity = 0; parity < 2; ++parity) hopping.apply(tables, out, parity, in, sign);
    combine(out, 1.0, out, 2 * 0.1, in);
    return out;
  };
  const SpinorField source = vector_of("milc/ksvector.src.sample.l8");
  for (const int which : {0, 1}) {
    const SpinorField answer = vector_of(which == 0 ? "milc/ksvector.ans.Minv.sample.l8"
                                                    : "milc/ksvector.ans.MdaggerMinv.sample.l8");
    SpinorField r = twice_M(answer, 1.0);
    if (which == 1) r = twice_M(r, -1.0);
    combine(r, 1.0, r, -1.0, source);
    EXPECT_LT(std::sqrt(norm2(r) / norm2(source)), 1e-6);
  }
}

/// Returns sum Re tr(G dU).
double contract(const LinkDerivative& G, const std::vector<ColorMatrix<double>>& dU, const Coord& L) {
  double sum = 0;
  for (int64_t site = 0; site < product(L); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Link g = G.matrix(site_coord(site, L), mu);
      const auto& d = dU[size_t(4 * site + mu)];
      for (int i = 0; i < Nc; ++i)
        for (int j = 0; j < Nc; ++j)
          sum += g[size_t(3 * i + j)].real() * d.e[j][i].re - g[size_t(3 * i + j)].imag() * d.e[j][i].im;
    }
  return sum;
}

/// Returns (d/dt) f(U + t dU) by differences of order 6, and by Richardson once more.
template <class F>
double difference_quotient(const F& f, double h) {
  const auto central = [&](double s) {
    return (45 * (f(s) - f(-s)) - 9 * (f(2 * s) - f(-2 * s)) + f(3 * s) - f(-3 * s)) / (60 * s);
  };
  return (64 * central(h / 2) - central(h)) / 63;
}

/// Returns X_mu(x) U_mu(x).
std::vector<ColorMatrix<double>> group_direction(const reference::Gauge& U) {
  auto direction = test::hash_direction(U.extents);
  for (size_t i = 0; i < direction.size(); ++i) direction[i] = direction[i] * U.links[i];
  return direction;
}
reference::Gauge moved(const reference::Gauge& U, double t) {
  const auto X = test::hash_direction(U.extents);
  reference::Gauge V = U;
  for (size_t i = 0; i < X.size(); ++i) V.links[i] = reference::exponential(t * X[i]) * U.links[i];
  return V;
}

TEST(Hisq, derivative_of_the_action_through_both_levels) {
  const Coord L{4, 4, 2, 6};
  const auto lattice = make_lattice(L);
  const reference::Gauge U = test::random_gauge(L, 71, 0.7);
  StaggeredPhases phases;
  phases.mu_over_ipiT = 0.2;
  phases.flux[0] = 1;
  const double epsilons[] = {0.0, -0.35};
  const auto psi = test::random_vectors(L, 72);
  const auto matrix_of = [&](const HisqLinks& hisq, double epsilon) {
    const auto links = std::make_shared<StaggeredLinks>(hisq.fat(epsilon), hisq.long_field(),
                                                        hisq_long_coefficient(epsilon));
    return std::make_shared<StaggeredMatrix>(links, phases, 0.3);
  };
  const auto source_of = [&](const StaggeredSchur& S) {
    SpinorField full = StaggeredOperator(S.matrix()).make_field();
    test::to_product(full, psi);
    SpinorField even = S.make_field();
    extract_parity(even, full);
    return even;
  };
  const auto action = [&](double t) {
    const HisqLinks hisq(test::to_product(lattice, moved(U, t)));
    double sum = 0;
    for (const double epsilon : epsilons) {
      const StaggeredSchur S(matrix_of(hisq, epsilon));
      const SpinorField X = source_of(S);
      SpinorField AX = S.make_field();
      S.apply(AX, X);
      sum += dot(X, AX).real();
    }
    return sum;
  };
  const GaugeField field = test::to_product(lattice, U);
  const HisqLinks hisq(field);
  std::vector<LinkDerivative> parts;
  for (int i = 0; i < 4; ++i) parts.emplace_back(field);
  for (size_t f = 0; f < 2; ++f) {
    const auto matrix = matrix_of(hisq, epsilons[f]);
    const SpinorField X = source_of(StaggeredSchur(matrix));
    StaggeredLinkDerivative(matrix).add(parts[2 * f], &parts[2 * f + 1], {&X}, {1.0});
  }
  LinkDerivative G(field);
  hisq.add_derivative(G, {{&parts[0], &parts[1], epsilons[0]}, {&parts[2], &parts[3], epsilons[1]}}, 0.0);
  const double expected = difference_quotient(action, 4e-3), found = contract(G, group_direction(U), L);
  EXPECT_LT(test::relative_error(found, expected), 1e-8);
  // The guard changes the derivative only where an eigenvalue is small.
  LinkDerivative guarded(field), raised(field);
  hisq.add_derivative(guarded, {{&parts[0], &parts[1], 0.0}});
  hisq.add_derivative(raised, {{&parts[0], &parts[1], 0.0}}, 1e3);
  EXPECT_LT(std::abs(contract(raised, group_direction(U), L)),
            std::abs(contract(guarded, group_direction(U), L)));
}

/// Returns U_x = diag(e^{i a s}, e^{-i a s}, 1), s = (-1)^y, all else 1. Two of the eigenvalues of V^dagger V
/// are cos(a)^2 for links in x, where half of the weight of fat7 is on paths with the other sign of s, and
/// cos(a)^4 for those in y, where half of it is on the rectangles with e^{+-2 i a}; all others are 1.
GaugeField alternating_in_y(const LatticePtr& lattice, double a) {
  GaugeField U(lattice);
  const Coord& local = lattice->geometry().local();
  for (int64_t site = 0; site < product(local); ++site) {
    const Coord x = site_coord(site, local);
    const double angle = x[1] % 2 == 0 ? a : -a;
    Link link{};
    link[0] = std::polar(1.0, angle);
    link[4] = std::polar(1.0, -angle);
    link[8] = 1.0;
    U.set_link(x, 0, link);
  }
  U.halo_is_stale();
  return U;
}

TEST(Hisq, the_guard_says_at_how_many_links_it_acted) {
  const auto lattice = make_lattice({4, 4, 2, 6});
  const int64_t volume = lattice->volume();
  const auto guarded = [&](const GaugeField& U, double cut) {
    const LinkDerivative zero(U);
    LinkDerivative G(U);
    return HisqLinks(U).add_derivative(G, {{&zero, &zero, 0.0}}, cut);
  };
  const double a = std::acos(1e-3);  // eigenvalues are 1e-6 and 1e-12
  EXPECT_EQ(guarded(alternating_in_y(lattice, a), HisqLinks::default_cut), 2 * volume);
  EXPECT_EQ(guarded(alternating_in_y(lattice, a), 1e-9), volume);
  EXPECT_EQ(guarded(alternating_in_y(lattice, a), 0.0), 0);
  EXPECT_EQ(guarded(alternating_in_y(lattice, 0.3), HisqLinks::default_cut), 0);
  EXPECT_EQ(guarded(alternating_in_y(lattice, 0.3), 0.99), 2 * volume);
  EXPECT_EQ(guarded(alternating_in_y(lattice, 0.3), 1.01), 4 * volume);
}

/// The operator with long links is fat hops plus three-site hops of the reference.
TEST(Hisq, operator_equals_reference_in_every_storage) {
  const Coord L{4, 4, 2, 6};
  const auto lattice = make_lattice(L);
  const auto U = test::random_gauge(L, 81), V = test::random_gauge(L, 82);
  const auto psi = test::random_vectors(L, 83);
  StaggeredPhases phases;
  phases.mu_over_ipiT = 0.4;
  phases.flux = {1, -1, 2, 0, 1, 1};
  const auto theta = reference::staggered_theta(L, test::to_reference(phases));
  auto expected = reference::staggered_apply(U, theta, 0.1, psi);
  for (int64_t x = 0; x < product(L); ++x)
    for (int mu = 0; mu < Nd; ++mu)
      for (const int step : {reference::forward(mu), reference::backward(mu)}) {
        int64_t y = x;
        double angle = 0;
        for (int k = 0; k < 3; ++k) {
          if (step == reference::forward(mu)) angle += theta[size_t(4 * y + mu)];
          y = reference::neighbour(y, step, L);
          if (step == reference::backward(mu)) angle += theta[size_t(4 * y + mu)];
        }
        const double c = -0.5 / 24;
        const auto h = step == reference::forward(mu) ? V.link(x, mu) * psi[size_t(y)]
                                                      : dagger(V.link(y, mu)) * psi[size_t(y)];
        const Complex<double> u = step == reference::forward(mu)
                                      ? Complex<double>{c * std::cos(angle), c * std::sin(angle)}
                                      : Complex<double>{-c * std::cos(angle), c * std::sin(angle)};
        expected[size_t(x)] = expected[size_t(x)] + u * h;
      }
  for (const bool is_unitary : {true, false}) {
    std::vector<double> bits[4];
    for (const Backend backend : {Backend::cpu, Backend::gpu_emulated})
      for (const int lanes : {1, 4, 8, 16})
        for (const Precision precision : all_precisions) {
          if (backend == Backend::gpu_emulated && lanes != 1) continue;
          const auto links = std::make_shared<StaggeredLinks>(
              test::to_product(lattice, U), test::to_product(lattice, V), -1.0 / 24, is_unitary,
              KernelChoice{precision, 18, backend, lanes});
          const StaggeredOperator M(std::make_shared<StaggeredMatrix>(links, phases, 0.1, precision));
          SpinorField in = M.make_field(3), out = M.make_field(3);
          for (int r = 0; r < 3; ++r) test::to_product(in, psi, r);
          M.apply(out, in);
          const auto found = test::canonical_part(out, 2);
          EXPECT_EQ(found, test::canonical_part(out, 0));
          const double allowed[] = {rounding(50), rounding<float>(50), 10.0 / 32767, 2.0 / 2048};
          const auto p = size_t(precision);
          EXPECT_LT(test::relative_error(found, expected), allowed[p]);
          if (bits[p].empty()) bits[p] = found;
          EXPECT_EQ(bits[p], found) << name_of(backend) << lanes << name_of(precision);
        }
  }
}

}  // namespace in_test_hisq
}  // namespace trellis
