/// Links of 8 reals give the link back: random ones, cold ones, and those with equal or opposite eigenvalues.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/link_compression.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {
namespace in_test_link_compression {

Link to_link(const ColorMatrix<double>& U) {
  Link link;
  for (size_t k = 0; k < 9; ++k) link[k] = {U.e[k / 3][k % 3].re, U.e[k / 3][k % 3].im};
  return link;
}

/// Returns the largest error of a component after compression to 8 reals in `Storage`.
template <class Storage>
double error(const ColorMatrix<double>& U) {
  using Array = SiteArray<CpuLayout<1>, Storage, 8>;
  double reals[8];
  stored_reals(to_link(U), 8, reals);
  typename Array::Element stored[8];
  double unit = 1;
  for (int i = 0; i < 8; ++i) {
    EXPECT_LE(std::fabs(reals[i]), 1.0);
    if constexpr (Array::is_half) {
      stored[i] = stored_link_component(float(reals[i]));
      unit = link_full_scale;
    } else {
      stored[i] = typename Array::Element(reals[i]);
    }
  }
  const Array array(RawField{stored, nullptr, 1});
  LinkRows<Array, 8> rows(array, 0, 0);
  double worst = 0;
  auto compare = [&](int i, const auto& row) {
    for (int j = 0; j < Nc; ++j)
      worst = std::max({worst, std::fabs(double(row.c[j].re) / unit - U.e[i][j].re),
                        std::fabs(double(row.c[j].im) / unit - U.e[i][j].im)});
  };
  compare(0, rows.template row<0>());
  compare(1, rows.template row<1>());
  compare(2, rows.template row<2>());
  return worst;
}

/// Returns diag(e^{ia}, e^{ib}, e^{-i(a+b)}), turned by a random matrix.
ColorMatrix<double> with_phases(double a, double b, test::Random& random) {
  ColorMatrix<double> D = zero_matrix<double>();
  const double phases[3] = {a, b, -a - b};
  for (int k = 0; k < 3; ++k) D.e[k][k] = {std::cos(phases[k]), std::sin(phases[k])};
  const ColorMatrix<double> V = test::random_su3(random);
  return mul_dagger(V * D, V);
}

TEST(LinkCompression, eight_reals_give_the_link_back) {
  test::Random random(3);
  std::vector<ColorMatrix<double>> links{identity_matrix<double>()};
  for (int i = 0; i < 3000; ++i) links.push_back(test::random_su3(random));
  for (const double size : {1e-14, 1e-8, 1e-3, 0.3})
    for (int i = 0; i < 50; ++i) links.push_back(test::random_su3(random, size));
  const double pi = std::acos(-1.0);
  for (const double a : {0.0, 1e-9, 0.6, 1.0, 2.4, pi / 2, 2 * pi / 3, pi - 1e-9, pi})
    for (const double b : {0.0, a, a + 1e-10, -a, 0.6 - a, 2.4 - a, 4.2 - a, pi, -2 * pi / 3})
      links.push_back(with_phases(a, b, random));
  double worst_double = 0, worst_float = 0, worst_half = 0;
  for (const auto& U : links) {
    worst_double = std::max(worst_double, error<double>(U));
    worst_float = std::max(worst_float, error<float>(U));
    worst_half = std::max(worst_half, error<Half>(U));
  }
  RecordProperty("largest_error", message(worst_double, " ", worst_float, " ", worst_half));
  EXPECT_LT(worst_double, 2e-14);
  EXPECT_LT(worst_float, 2e-6);
  EXPECT_LT(worst_half, 2e-4);
}

TEST(LinkCompression, links_that_are_not_special_unitary_are_refused) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 2});
  GaugeField U(lattice);
  EXPECT_NO_THROW(HopLinks(U, Precision::double_precision, 8));
  EXPECT_THROW(HopLinks(U, Precision::double_precision, 10), BadArgument);
  Link scaled = U.link({0, 0, 0, 0}, 0);
  for (auto& z : scaled) z *= 1.0 + 1e-6;
  U.set_link({0, 0, 0, 0}, 0, scaled);
  EXPECT_THROW(HopLinks(U, Precision::double_precision, 8), BadArgument);
}

/// In fixed point without scales they would have to be cut; other storages take them.
TEST(LinkCompression, links_that_became_longer_are_refused_in_fixed_point) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 2});
  GaugeField U(lattice);
  HopLinks half(U, Precision::half_precision, 18), fp16(U, Precision::fp16_precision, 18);
  EXPECT_NO_THROW(half.refill(U));
  Link longer = U.link({0, 0, 0, 0}, 0);
  for (auto& z : longer) z *= 1.1;
  U.set_link({0, 0, 0, 0}, 0, longer);
  EXPECT_THROW(half.refill(U), BadArgument);
  EXPECT_NO_THROW(fp16.refill(U));
  EXPECT_NO_THROW(HopLinks(U, Precision::half_precision, 18));  // this one has scales
}

}  // namespace in_test_link_compression
}  // namespace trellis
