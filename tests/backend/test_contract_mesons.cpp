/// Meson contractions of random propagators equal reference/, and have the same bits for every lane count and
/// layout.
#include <gtest/gtest.h>

#include "reference/mesons.hpp"
#include "tests/support/random_propagators.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/measure/mesons.hpp"

namespace trellis {
namespace in_test_contract_mesons {

const Momenta some_momenta{{0, 0, 0}, {1, 0, 0}, {-1, 2, 1}};

class ContractMesons : public ::testing::TestWithParam<Coord> {
 protected:
  LatticePtr lattice = make_lattice(GetParam());
  Coord at{1, GetParam()[1] - 1, 0, 1};
  reference::Propagator S = test::random_propagator(GetParam(), 1),
                        A = test::random_propagator(GetParam(), 2);
};

TEST_P(ContractMesons, all_pairs_equal_reference) {
  const auto C =
      all_meson_correlators(test::to_product(lattice, S, at), test::to_product(lattice, A, at), some_momenta);
  ASSERT_EQ(C.rows, 256);
  ASSERT_EQ(C.times, GetParam()[3]);
  // The sum of the terms is at most |S|^2 of 144 numbers of order 1 at each site.
  const double scale = 100.0 * double(product(GetParam())) / GetParam()[3];
  for (int row = 0; row < 256; row += 5)  // 5 is coprime to 16: every sink and every source occurs
    for (int p = 0; p < C.momenta; ++p) {
      const auto expected =
          reference::meson(S, A, gamma_product(row / 16), gamma_product(row % 16), some_momenta[p], at);
      for (int t = 0; t < C.times; ++t)
        EXPECT_LT(std::abs(C.at(row, p, t) - expected[t]), test::rounding(50) * scale)
            << "sink " << row / 16 << " source " << row % 16 << " momentum " << p << " t = " << t;
    }
}

TEST_P(ContractMesons, every_layout_gives_the_same_bits) {
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    std::vector<std::complex<double>> expected;
    for (const auto& [backend, lanes] : {std::pair{Backend::cpu, 1},
                                         {Backend::cpu, 4},
                                         {Backend::cpu, 8},
                                         {Backend::cpu, 16},
                                         {Backend::gpu_emulated, 1}}) {
      FieldSpec storage;
      storage.precision = precision;
      storage.backend = backend;
      storage.lanes = lanes;
      const auto C = all_meson_correlators(test::to_product(lattice, S, at, storage),
                                           test::to_product(lattice, A, at, storage), some_momenta);
      if (expected.empty()) expected = C.values;
      EXPECT_EQ(expected, C.values) << name_of(backend) << " lanes " << lanes << " " << name_of(precision);
    }
  }
}

TEST_P(ContractMesons, momenta_list_does_not_change_a_momentum) {
  const Propagator quark = test::to_product(lattice, S, at), antiquark = test::to_product(lattice, A, at);
  const auto all = meson_correlator(quark, antiquark, "gamma_x", "gamma_x", some_momenta);
  for (int p = 0; p < all.momenta; ++p) {
    const auto one = meson_correlator(quark, antiquark, "gamma_x", "gamma_x", {some_momenta[p]});
    for (int t = 0; t < all.times; ++t) EXPECT_EQ(all.at(0, p, t), one.at(0, 0, t));
  }
}

TEST_P(ContractMesons, pion_is_the_norm_of_the_propagator) {
  const Propagator quark = test::to_product(lattice, S, at);
  const auto C = meson_correlator(quark, quark, "gamma5", "gamma5");
  const auto expected = propagator_norm(quark);
  for (int t = 0; t < C.times; ++t)
    EXPECT_LT(test::relative_error(C.at(0, 0, t), expected[t]), test::rounding(50));
}

INSTANTIATE_TEST_SUITE_P(Lattices, ContractMesons,
                         ::testing::Values(Coord{4, 4, 4, 8}, Coord{2, 2, 2, 2}, Coord{6, 4, 2, 6},
                                           Coord{2, 2, 2, 16}),
                         [](const auto& info) { return to_string(info.param); });

/// A time slice is cut into chunks of products, of which the last one is shorter.
TEST(ContractMesonsChunks, do_not_show) {
  const Coord extents{18, 16, 10, 2}, at{17, 0, 3, 1};
  const auto lattice = make_lattice(extents);
  const auto S = test::random_propagator(extents, 3), A = test::random_propagator(extents, 4);
  std::vector<std::complex<double>> expected;
  for (const int lanes : {1, 4}) {
    FieldSpec storage;
    storage.lanes = lanes;
    const Propagator quark = test::to_product(lattice, S, at, storage);
    const auto pion = meson_correlator(quark, quark, "gamma5", "gamma5");
    const auto norm = propagator_norm(quark);
    for (int t = 0; t < 2; ++t)
      EXPECT_LT(test::relative_error(pion.at(0, 0, t), norm[size_t(t)]), test::rounding(20));
    const auto C =
        meson_correlator(quark, test::to_product(lattice, A, at, storage), "gamma_x", "1", some_momenta);
    for (int p = 0; p < C.momenta; ++p) {
      const auto slow = reference::meson(S, A, gamma_mu(0), gamma_product(0), some_momenta[size_t(p)], at);
      for (int t = 0; t < 2; ++t)
        EXPECT_LT(std::abs(C.at(0, p, t) - slow[size_t(t)]), test::rounding(50) * 100 * 2880)
            << p << " " << t;
    }
    if (expected.empty()) expected = C.values;
    EXPECT_EQ(expected, C.values);
  }
}

TEST(ContractMesonsErrors, a_nan_shows_in_its_time_slice_alone) {
  const Coord extents{4, 4, 4, 4};
  const auto lattice = make_lattice(extents);
  auto S = test::random_propagator(extents, 1);
  S.columns[4][size_t(site_index({1, 2, 3, 2}, extents))].s[1].c[0].im = std::nan("");
  const Propagator quark = test::to_product(lattice, S, {0, 0, 0, 0});
  const auto pion = meson_correlator(quark, quark, "gamma5", "gamma5");
  for (int t = 0; t < 4; ++t) EXPECT_EQ(std::isnan(pion.at(0, 0, t).real()), t == 2);
}

TEST(ContractMesonsErrors, propagators_must_match) {
  const auto lattice = make_lattice({4, 2, 2, 4});
  const auto S = test::random_propagator({4, 2, 2, 4}, 1);
  const Propagator a = test::to_product(lattice, S, {0, 0, 0, 0}),
                   b = test::to_product(lattice, S, {0, 0, 0, 1});
  EXPECT_THROW(meson_correlator(a, b, "gamma5", "gamma5"), BadArgument);
  EXPECT_THROW(meson_correlator(a, a.converted(Precision::single_precision), "gamma5", "gamma5"),
               BadArgument);
  EXPECT_THROW(meson_correlator(a, a, "gamma6", "gamma5"), BadArgument);
}

TEST(Momenta, roots_of_unity_have_the_exact_symmetries) {
  for (const int64_t n : {1, 2, 3, 6, 8, 20, 24, 72}) {
    for (int64_t i = 0; i < n; ++i) {
      const auto z = root_of_unity(i, n);
      EXPECT_LT(std::abs(z - std::polar(1.0, 2 * M_PI * double(i) / double(n))), test::rounding(4));
      EXPECT_EQ(root_of_unity(-i, n), std::conj(z));
      if (n % 2 == 0) {
        EXPECT_EQ(root_of_unity(i + n / 2, n), -z);
      }
      if (n % 4 == 0) {
        EXPECT_EQ(root_of_unity(i + n / 4, n), std::complex<double>(-z.imag(), z.real()));
      }
    }
  }
}

TEST(Momenta, list_up_to_a_square) {
  EXPECT_EQ(momenta_up_to(0), zero_momentum);
  EXPECT_EQ(momenta_up_to(1).size(), 7u);
  EXPECT_EQ(momenta_up_to(2).size(), 19u);
  EXPECT_EQ(momenta_up_to(4).size(), 33u);
}

}  // namespace in_test_contract_mesons
}  // namespace trellis
