/// In 16-bit fixed point numbers round to nearest even, the same for every lane count, and the largest
/// component survives.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_fields.hpp"
#include "trellis/algebra/fixed_point.hpp"
#include "trellis/view/integer_products.hpp"

namespace trellis {
namespace in_test_fixed_point {

template <int W>
void expect_rounding_like_scalars() {
  using R = LaneReal<float, W>;
  using Pair = typename PairOf<R>::type;
  test::Random random(3);
  std::vector<float> inputs{0.0f,  -0.0f, 0.5f,     1.5f,      2.5f,     -0.5f,
                            -1.5f, -2.5f, 32766.5f, -32766.5f, 32767.0f, -32767.0f};
  while (inputs.size() < 4096) {
    const float x = 32767.0f * float(random.symmetric());
    inputs.push_back(x);
    inputs.push_back(std::floor(x) + 0.5f);  // these are ties
  }
  inputs.resize(inputs.size() / 32 * 32);
  for (float& x : inputs) x = std::fmin(std::fmax(x, -32767.0f), 32767.0f);
  for (size_t at = 0; at < inputs.size(); at += 2 * W) {
    alignas(64) float re[W], im[W];
    alignas(64) int16_t q[2 * W];
    for (size_t i = 0; i < W; ++i) {
      re[i] = inputs[at + 2 * i];
      im[i] = inputs[at + 2 * i + 1];
    }
    store_pair(q, pack_pair(nearest_integer(load_real<R>(re)), nearest_integer(load_real<R>(im))));
    const Pair back = load_pair(q, static_cast<Pair*>(nullptr));
    const R back_re = integer_to_float(pair_re(back), static_cast<R*>(nullptr));
    const R back_im = integer_to_float(pair_im(back), static_cast<R*>(nullptr));
    for (int i = 0; i < W; ++i) {
      ASSERT_EQ(q[2 * i], int16_t(std::nearbyint(double(re[i])))) << re[i] << " in lane " << i << " of " << W;
      ASSERT_EQ(q[2 * i + 1], int16_t(std::nearbyint(double(im[i])))) << im[i] << " in lane " << i;
      ASSERT_EQ(lane(back_re, i), float(q[2 * i]));
      ASSERT_EQ(lane(back_im, i), float(q[2 * i + 1]));
    }
  }
}

TEST(FixedPoint, rounds_to_nearest_even_in_every_lane_count) {
  expect_rounding_like_scalars<1>();
  expect_rounding_like_scalars<4>();
  expect_rounding_like_scalars<8>();
  expect_rounding_like_scalars<16>();
}

int32_t lane_of(int32_t a, int) { return a; }
template <int W, bool fits>
int32_t lane_of(const Lanes<int32_t, W, fits>& a, int i) {
  return a[i];
}

/// Compares what pairs are for with plain integers, with components that can be added without leaving 16
/// bits.
template <int W>
void expect_exact_pairs() {
  using Pair = typename PairOf<LaneReal<float, W>>::type;
  test::Random random(5);
  for (int round = 0; round < 500; ++round) {
    int re[2][W], im[2][W];
    alignas(64) int16_t q[2][2 * W];
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < W; ++i) {
        re[k][i] =
            round % 3 == 0 ? (random.symmetric() < 0 ? -16383 : 16383) : int(16383 * random.symmetric());
        im[k][i] =
            round % 3 == 1 ? (random.symmetric() < 0 ? -16383 : 16383) : int(16383 * random.symmetric());
        q[k][2 * i] = int16_t(re[k][i]);
        q[k][2 * i + 1] = int16_t(im[k][i]);
      }
    const Pair a = load_pair(q[0], static_cast<Pair*>(nullptr)),
               b = load_pair(q[1], static_cast<Pair*>(nullptr));
    const Pair large = pack_saturated(products(a, a), products(a, b));
    for (int i = 0; i < W; ++i) {
      const int ar = re[0][i], ai = im[0][i], br = re[1][i], bi = im[1][i];
      ASSERT_EQ(lane_of(products(a, b), i), ar * br + ai * bi);
      ASSERT_EQ(lane_of(add_products(products(a, b), a, swap_pair(b)), i),
                ar * br + ai * bi + ar * bi + ai * br);
      ASSERT_EQ(lane_of(pair_im(conjugate_pair(a)), i), -ai);
      ASSERT_EQ(lane_of(pair_re(conjugate_pair(a)), i), ar);
      ASSERT_EQ(lane_of(pair_re(add_pairs(a, b)), i), ar + br);
      ASSERT_EQ(lane_of(pair_im(add_pairs(a, b)), i), ai + bi);
      ASSERT_EQ(lane_of(pair_re(subtract_pairs(a, b)), i), ar - br);
      ASSERT_EQ(lane_of(pair_im(subtract_pairs(a, b)), i), ai - bi);
      const auto clamped = [](int n) { return n > 32767 ? 32767 : n < -32768 ? -32768 : n; };
      ASSERT_EQ(lane_of(pair_re(large), i), clamped(ar * ar + ai * ai));
      ASSERT_EQ(lane_of(pair_im(large), i), clamped(ar * br + ai * bi));
      ASSERT_EQ(lane_of(float_as_bits(bits_as_float(a)), i), lane_of(a, i));
    }
  }
}

TEST(FixedPoint, products_of_pairs_are_exact_in_every_lane_count) {
  expect_exact_pairs<1>();
  expect_exact_pairs<4>();
  expect_exact_pairs<8>();
  expect_exact_pairs<16>();
}

/// The sum of products of a row of a link and a vector is as large as stored numbers let it become.
TEST(FixedPoint, sums_of_products_stay_within_32_bits) {
  const double full = link_full_scale, rounding = std::sqrt(6.0) / 2;  // each component moves away from 0
  const double stored = full * (1 + 1e-5) + rounding, third = stored * stored / full + rounding;
  const double determinant = full * (1 + 1e-5) + std::sqrt(2.0) / 2;
  const double row = third * determinant / full + rounding;  // it is that of a link of 14 reals: the longest
  EXPECT_GT(row, stored);
  EXPECT_LT(row * std::sqrt(6.0) * fixed_point_full_scale(6), 2147483647.0);
  EXPECT_LT(row * std::sqrt(6.0) * 2 * fixed_point_full_scale(24), 2147483647.0);
  EXPECT_LE(2 * fixed_point_full_scale(24), 32767.0f);
}

TEST(FixedPoint, link_components_keep_within_a_component_that_can_change_sign) {
  EXPECT_EQ(stored_link_component(1.0f), 32767);
  EXPECT_EQ(stored_link_component(-1.0f), -32767);
  EXPECT_EQ(stored_link_component(0.5f), 16384);
}

ColorPairs<int32_t> stored_row(const ColorMatrix<double>& U, int i) {
  ColorPairs<int32_t> r;
  for (int j = 0; j < Nc; ++j)
    r.c[j] =
        pack_pair(stored_link_component(float(U.e[i][j].re)), stored_link_component(float(U.e[i][j].im)));
  return r;
}

/// This also holds where a component of the third row is 1 and both other rows have been rounded away from 0.
TEST(FixedPoint, the_third_row_of_a_link_is_right_to_rounding) {
  test::Random random(7);
  std::vector<ColorMatrix<double>> links{identity_matrix<double>()};
  for (int i = 0; i < 2000; ++i) links.push_back(test::random_su3(random));
  for (int i = 0; i < 200; ++i) links.push_back(test::random_su3(random, 1e-4));
  ColorMatrix<double> half = zero_matrix<double>();  // it is an SU(2) matrix of halves, third row (0, 0, 1)
  half.e[0][0] = {0.5, 0.5};
  half.e[0][1] = {0.5, 0.5};
  half.e[1][0] = {-0.5, 0.5};
  half.e[1][1] = {0.5, -0.5};
  half.e[2][2] = {1, 0};
  links.push_back(half);
  for (int k = 0; k < 2; ++k) half.e[1][k] = {-half.e[1][k].re, -half.e[1][k].im};
  half.e[2][2] = {-1, 0};
  links.push_back(half);
  for (const auto& U : links) {
    const ColorPairs<int32_t> third = third_row(stored_row(U, 0), stored_row(U, 1));
    for (int j = 0; j < Nc; ++j) {
      EXPECT_NEAR(pair_re(third.c[j]) / double(link_full_scale), U.e[2][j].re, 2.5 / 32768);
      EXPECT_NEAR(pair_im(third.c[j]) / double(link_full_scale), U.e[2][j].im, 2.5 / 32768);
    }
  }
}

/// A row and a vector have the same direction, and the vector has components at the end of its range.
TEST(FixedPoint, the_largest_product_of_a_row_and_a_vector_is_exact) {
  const int32_t component = stored_link_component(float(1 / std::sqrt(6.0))) + 1,
                full = int32_t(fixed_point_full_scale(6));
  for (const int sign : {1, -1}) {
    ColorPairs<int32_t> row, v;
    ProductForms<int32_t> forms[Nc];
    for (int j = 0; j < Nc; ++j) {
      row.c[j] = pack_pair(component, -component);
      v.c[j] = pack_pair(sign * full, sign * full);
      forms[j] = product_forms<false>(v.c[j]);
    }
    const ComplexSum<int32_t> product = row_product(row, forms);
    EXPECT_EQ(product.re, 6 * int64_t(sign) * component * full);
    EXPECT_EQ(product.im, 0);
    ComplexSum<int32_t> sum[Nc];
    add_row_dagger<0>(sum, row, product_forms<true>(v.c[0]));
    EXPECT_EQ(sum[1].re, 0);
    EXPECT_EQ(sum[1].im, 2 * int64_t(sign) * component * full);
  }
}

}  // namespace in_test_fixed_point
}  // namespace trellis
