/// Sources and Gaussian smearing equal reference/, have the same bits for every lane count, and are gauge
/// covariant.
#include <gtest/gtest.h>

#include "reference/sources.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/algebra/random.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/noise.hpp"
#include "trellis/measure/source.hpp"

namespace trellis {
namespace in_test_sources {

/// Returns column c of the source on all sites.
reference::SpinorVector column(const Source& source, int c) { return test::to_reference(source.columns, c); }

TEST(Sources, point_source_is_one_at_its_site) {
  const auto lattice = make_lattice({4, 2, 6, 4});
  const Coord at{3, 1, 4, 2};
  const Source source = point_source(lattice, at);
  const auto expected = reference::point_source(lattice->extents(), at);
  for (int c = 0; c < 12; ++c) {
    EXPECT_EQ(test::relative_error(column(source, c), expected.columns[size_t(c)]), 0.0) << c;
    EXPECT_EQ(norm2_each(source.columns)[size_t(c)], 1.0);
  }
  EXPECT_EQ(source.at, at);
  EXPECT_THROW(point_source(lattice, {0, 2, 0, 0}), BadArgument);
  EXPECT_THROW(point_source(lattice, {0, 0, -1, 0}), BadArgument);
}

TEST(Sources, wall_source_fills_its_time_slice) {
  const auto lattice = make_lattice({4, 2, 6, 4});
  const Source wall = wall_source(lattice, 3), wave = wall_source(lattice, 3, {1, 0, -2});
  for (const int c : {0, 7}) {
    const auto psi = column(wall, c), phi = column(wave, c);
    for (int64_t site = 0; site < lattice->volume(); ++site) {
      const Coord x = site_coord(site, lattice->extents());
      const auto value = psi[size_t(site)].s[c / 3].c[c % 3], phase = phi[size_t(site)].s[c / 3].c[c % 3];
      EXPECT_EQ(value.re, x[3] == 3 ? 1.0 : 0.0);
      const auto expected =
          x[3] == 3 ? std::polar(1.0, 2 * M_PI * (x[0] / 4.0 - 2 * x[2] / 6.0)) : std::complex<double>(0.0);
      EXPECT_LT(std::abs(reference::to_std(phase) - expected), test::rounding(10));
    }
    EXPECT_EQ(norm2_each(wall.columns)[size_t(c)], 48.0);
  }
  EXPECT_THROW(wall_source(lattice, 4), BadArgument);
}

TEST(Sources, momentum_multiplies_with_the_phase_counted_from_the_source) {
  const auto lattice = make_lattice({4, 4, 2, 2});
  const auto U = test::random_gauge(lattice->extents(), 3);
  const Source base = smeared(point_source(lattice, {1, 2, 0, 1}), test::to_product(lattice, U), {2.0, 3});
  const Source moved = with_momentum(base, {1, -1, 0});
  const auto psi = column(base, 4), phi = column(moved, 4);
  for (int64_t site = 0; site < lattice->volume(); ++site) {
    const Coord x = site_coord(site, lattice->extents());
    const auto z = std::polar(1.0, 2 * M_PI * ((x[0] - 1) / 4.0 - (x[1] - 2) / 4.0));
    for (int s = 0; s < 4; ++s)
      for (int c = 0; c < 3; ++c)
        EXPECT_LT(std::abs(reference::to_std(phi[size_t(site)].s[s].c[c]) -
                           z * reference::to_std(psi[size_t(site)].s[s].c[c])),
                  test::rounding(10));
  }
}

/// Returns the numbers of doc/random_numbers.md, computed by hand.
std::complex<double> expected_noise(NoiseKind kind, RandomPurpose purpose, const Noise& n, int64_t site,
                                    uint32_t draw) {
  const SiteRandom<double> random(random_key(n.seed, n.stream), purpose, n.configuration, uint64_t(site));
  if (kind == NoiseKind::z2) return random.z2(draw);
  if (kind == NoiseKind::u1) return std::polar(1.0, 2 * M_PI * random.uniform_pair(draw)[0]);
  return reference::to_std(random.z4(draw));
}

TEST(Sources, noise_source_has_one_number_a_site_for_all_columns) {
  const auto lattice = make_lattice({4, 2, 6, 4});
  for (const NoiseKind kind : {NoiseKind::z2, NoiseKind::z4}) {
    const Noise noise{kind, 17, 3, 5, 2};
    const Source slice = noise_source(lattice, noise, 2), all = noise_source(lattice, noise);
    EXPECT_EQ(slice.at, (Coord{0, 0, 0, 2}));
    for (const int c : {0, 11}) {
      const auto psi = column(slice, c), phi = column(all, c);
      for (int64_t site = 0; site < lattice->volume(); ++site) {
        const auto eta = expected_noise(kind, RandomPurpose::source_noise, noise, site, 2);
        const bool is_there = site_coord(site, lattice->extents())[3] == 2;
        EXPECT_EQ(reference::to_std(psi[size_t(site)].s[c / 3].c[c % 3]), is_there ? eta : 0.0);
        EXPECT_EQ(reference::to_std(phi[size_t(site)].s[c / 3].c[c % 3]), eta);
      }
      EXPECT_EQ(norm2_each(slice.columns)[size_t(c)], 48.0);
      EXPECT_EQ(norm2_each(all.columns)[size_t(c)], 192.0);
    }
  }
  EXPECT_THROW(noise_source(lattice, {}, 4), BadArgument);
}

TEST(Sources, u1_noise_has_uniform_phases) {
  const auto lattice = make_lattice({4, 4, 4, 8});
  const Noise noise{NoiseKind::u1, 17, 0, 5, 2};
  const auto psi = column(noise_source(lattice, noise, all_times), 4);
  std::complex<double> sum = 0, sum_of_squares = 0;
  for (int64_t site = 0; site < lattice->volume(); ++site) {
    const auto eta = reference::to_std(psi[size_t(site)].s[1].c[1]);
    EXPECT_LT(std::abs(eta - expected_noise(NoiseKind::u1, RandomPurpose::source_noise, noise, site, 2)),
              test::rounding(10));
    sum += eta;
    sum_of_squares += eta * eta;
  }
  EXPECT_LT(std::abs(sum), 3 * std::sqrt(512.0));  // it lies beyond with a probability of exp(-9)
  EXPECT_LT(std::abs(sum_of_squares), 3 * std::sqrt(512.0));
}

TEST(Sources, noise_vectors_are_independent) {
  const auto lattice = make_lattice({4, 4, 4, 8});
  const Noise noise{NoiseKind::z4, 23, 0, 1, 7};
  SpinorField eta = noise_vectors(lattice, noise, 3);
  const auto psi = test::to_reference(eta, 2);
  for (const int64_t site : {0, 77, 511})
    for (uint32_t c = 0; c < 12; ++c)
      EXPECT_EQ(reference::to_std(psi[size_t(site)].s[c / 3].c[c % 3]),
                expected_noise(NoiseKind::z4, RandomPurpose::trace_noise, noise, site, 12 * 9 + c));
  const double count = 12.0 * 512;
  for (const double n : norm2_each(eta)) EXPECT_EQ(n, count);
  // Different fields, and different components of one, give sums of `terms` random phases.
  const auto chi = test::to_reference(eta, 0);
  std::complex<double> between = reference::dot(chi, psi), within = 0;
  for (const auto& spinor : psi)
    within += std::conj(reference::to_std(spinor.s[0].c[0])) * reference::to_std(spinor.s[3].c[1]);
  EXPECT_LT(std::abs(between), 4 * std::sqrt(count));
  EXPECT_LT(std::abs(within), 4 * std::sqrt(512.0));
  EXPECT_THROW(noise_vectors(lattice, noise, 0), BadArgument);
}

class Smearing : public ::testing::TestWithParam<Coord> {};

TEST_P(Smearing, equals_reference_and_has_the_same_bits_for_every_layout) {
  const auto lattice = make_lattice(GetParam());
  const auto U = test::random_gauge(GetParam(), 5);
  const auto psi = test::random_spinors(GetParam(), 6);
  const auto expected = reference::gaussian_smeared(U, psi, 2.5, 4);
  std::vector<double> first;
  for (const auto& [backend, lanes] : {std::pair{Backend::cpu, 1},
                                       {Backend::cpu, 4},
                                       {Backend::cpu, 8},
                                       {Backend::cpu, 16},
                                       {Backend::gpu_emulated, 1}}) {
    FieldSpec spec;
    spec.rhs = 2;
    spec.backend = backend;
    spec.lanes = lanes;
    SpinorField field(lattice, spec);
    test::to_product(field, psi, 0);
    test::to_product(field, psi, 1);
    smear_gaussian(field, test::to_product(lattice, U), {2.5, 4});
    EXPECT_LT(test::relative_error(test::to_reference(field, 1), expected), test::rounding(50));
    if (first.empty()) first = test::canonical_part(field, 0);
    EXPECT_EQ(first, test::canonical_part(field, 0)) << name_of(backend) << " lanes " << lanes;
    EXPECT_EQ(first, test::canonical_part(field, 1)) << name_of(backend) << " lanes " << lanes;
  }
}

TEST_P(Smearing, of_one_time_slice_is_that_slice_of_all) {
  const auto lattice = make_lattice(GetParam());
  const auto U = test::to_product(lattice, test::random_gauge(GetParam(), 7));
  const int time = GetParam()[3] - 1;
  for (const int lanes : {1, 8, 16}) {
    FieldSpec spec;
    spec.lanes = lanes;
    SpinorField all(lattice, spec);
    test::to_product(all, test::random_spinors(GetParam(), 8));
    const auto before = test::canonical_part(all);
    SpinorField one = all;
    smear_gaussian(all, U, {2.0, 3});
    smear_gaussian(one, U, {2.0, 3}, time);
    const auto a = test::canonical_part(all), b = test::canonical_part(one);
    for (size_t i = 0; i < a.size(); ++i) {
      const bool is_there = site_coord(int64_t(i / 24), GetParam())[3] == time;
      ASSERT_EQ(b[i], is_there ? a[i] : before[i]) << "real " << i << " lanes " << lanes;
    }
  }
}

TEST_P(Smearing, is_gauge_covariant) {
  const auto lattice = make_lattice(GetParam());
  const auto U = test::random_gauge(GetParam(), 9);
  const auto g = test::random_transformation(GetParam(), 10);
  auto rotated = [&](reference::SpinorVector v) {
    for (size_t x = 0; x < v.size(); ++x) v[x] = reference::operator*(g[x], v[x]);
    return v;
  };
  const auto psi = test::random_spinors(GetParam(), 11);
  SpinorField a(lattice), b(lattice);
  test::to_product(a, psi);
  test::to_product(b, rotated(psi));
  smear_gaussian(a, test::to_product(lattice, U), {1.5, 5});
  smear_gaussian(b, test::to_product(lattice, reference::gauge_transformed(U, g)), {1.5, 5});
  EXPECT_LT(test::relative_error(test::to_reference(b), rotated(test::to_reference(a))), test::rounding(100));
}

/// On unit links a plane wave is an eigenvector: the factor is (1 - a sum_k (2 - 2 cos p_k))^steps.
TEST_P(Smearing, plane_waves_on_unit_links) {
  const auto lattice = make_lattice(GetParam());
  Source wave = wall_source(lattice, 0, {1, 0, 1});
  const SpinorField before = wave.columns;
  const double width = 1.2, a = width * width / 12;
  double factor = 1;
  for (const int k : {0, 2}) factor -= a * (2 - 2 * std::cos(2 * M_PI / GetParam()[k]));
  smear_gaussian(wave.columns, GaugeField(lattice), {width, 3}, 0);
  combine(wave.columns, 1.0, wave.columns, -std::pow(factor, 3), before);
  EXPECT_LT(std::sqrt(norm2(wave.columns) / norm2(before)), test::rounding(20));
}

INSTANTIATE_TEST_SUITE_P(Lattices, Smearing,
                         ::testing::Values(Coord{4, 4, 4, 8}, Coord{2, 4, 6, 4}, Coord{2, 2, 2, 16},
                                           Coord{8, 4, 2, 2}),
                         [](const auto& info) { return to_string(info.param); });

TEST(SmearingErrors, are_refused) {
  const auto lattice = make_lattice({4, 4, 4, 4});
  SpinorField psi(lattice);
  EXPECT_THROW(smear_gaussian(psi, GaugeField(lattice), {2.0, 0}), BadArgument);
  EXPECT_THROW(smear_gaussian(psi, GaugeField(lattice), {2.0, 3}, 4), BadArgument);
  FieldSpec single;
  single.precision = Precision::single_precision;
  SpinorField phi(lattice, single);
  EXPECT_THROW(smear_gaussian(phi, GaugeField(lattice), {2.0, 3}), BadArgument);
}

}  // namespace in_test_sources
}  // namespace trellis
