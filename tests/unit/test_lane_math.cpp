/// Our elementary functions have small errors against long double, special values, and the same bits for
/// every lane count.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "trellis/algebra/arc_tangent.hpp"
#include "trellis/algebra/lane_math.hpp"

namespace trellis {
namespace in_test_lane_math {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns |found - exact| in units of the last place of the exact value.
double error_in_ulp(double found, long double exact) {
  const double rounded = double(exact);
  const double ulp = std::nextafter(std::abs(rounded), infinity) - std::abs(rounded);
  return double(std::abs((long double)(found)-exact) / ulp);
}

/// Returns numbers that cover [low, high] evenly and unevenly, by a fixed recipe.
std::vector<double> sample(double low, double high, int count) {
  std::vector<double> x;
  uint64_t state = 12345;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x.push_back(low + (high - low) * double(state >> 11) * 0x1p-53);
  }
  return x;
}

TEST(LaneMath, exponential_is_within_2_ulp) {
  double worst = 0;
  for (const auto& range : {std::pair{-708.0, 708.9}, {-1.0, 1.0}, {-1e-3, 1e-3}, {-40.0, 0.0}})
    for (const double x : sample(range.first, range.second, 200000))
      worst = std::max(worst, error_in_ulp(exponential(x), std::exp((long double)(x))));
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(exponential(0.0), 1.0);
  EXPECT_EQ(exponential(-800.0), 0.0);
  EXPECT_EQ(exponential(-infinity), 0.0);
  EXPECT_EQ(exponential(800.0), infinity);
  EXPECT_TRUE(std::isnan(exponential(std::nan(""))));
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(LaneMath, logarithm_is_within_2_ulp) {
  double worst = 0;
  for (const auto& range : {std::pair{0.0, 1.0}, {0.9, 1.1}, {0.999999, 1.000001}, {1.0, 1e6}, {0.0, 1e-290}})
    for (const double x : sample(range.first, range.second, 200000))
      worst = std::max(worst, error_in_ulp(logarithm(x), std::log((long double)(x))));
  for (const double x : {0x1p-53, 1 - 0x1p-53, 0x1p-1070, 0x1.fffffffffffffp1023, 0x1p-1022})
    worst = std::max(worst, error_in_ulp(logarithm(x), std::log((long double)(x))));
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(logarithm(1.0), 0.0);
  EXPECT_EQ(logarithm(0.0), -infinity);
  EXPECT_EQ(logarithm(infinity), infinity);
  EXPECT_TRUE(std::isnan(logarithm(-1.0)));
  EXPECT_TRUE(std::isnan(logarithm(std::nan(""))));
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(LaneMath, sine_and_cosine_are_within_2_ulp) {
  double worst = 0;
  for (const double bound : {1.0, 20.0, 1e6})
    for (const double x : sample(-bound, bound, 200000)) {
      const SinCos<double> found = sin_cos(x);
      worst = std::max(worst, error_in_ulp(found.sin, std::sin((long double)(x))));
      worst = std::max(worst, error_in_ulp(found.cos, std::cos((long double)(x))));
    }
  for (int n = -1000; n <= 1000; ++n) {  // these lie next to the zeros
    const double x = n * 1.5707963267948966;
    worst = std::max(worst, error_in_ulp(sin_cos(x).sin, std::sin((long double)(x))));
    worst = std::max(worst, error_in_ulp(sin_cos(x).cos, std::cos((long double)(x))));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(sin_cos(0.0).sin, 0.0);
  EXPECT_EQ(sin_cos(0.0).cos, 1.0);
  EXPECT_TRUE(std::isnan(sin_cos(infinity).sin));
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(LaneMath, sine_and_cosine_of_full_turns_are_within_2_ulp) {
  double worst = 0;
  const long double two_pi = 6.28318530717958647692528676655900577L;
  for (const double bound : {1.0, 0.01})
    for (const double u : sample(-bound, bound, 200000)) {
      const SinCos<double> found = sin_cos_2pi(u);
      // It is reduced exactly before long double sees it.
      const double t = u - 0.5 * std::nearbyint(2 * u);
      const long double s = std::nearbyint(2 * u) / 2 == std::nearbyint(std::nearbyint(2 * u) / 2) ? 1 : -1;
      worst = std::max(worst, error_in_ulp(found.sin, s * std::sin(two_pi * t)));
      // cos near its zeros goes through the sine of the complement, which is also reduced exactly.
      const double c = std::abs(t) <= 0.5 ? 0.25 - std::abs(t) : 0;
      worst = std::max(worst, error_in_ulp(found.cos, s * std::sin(two_pi * c)));
    }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(sin_cos_2pi(0.25).sin, 1.0);
  EXPECT_EQ(sin_cos_2pi(0.25).cos, 0.0);
  EXPECT_EQ(sin_cos_2pi(0.5).cos, -1.0);
  EXPECT_EQ(sin_cos_2pi(-0.25).sin, -1.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(LaneMath, angles_in_the_plane) {
  double worst = 0;
  const std::vector<double> points = sample(-1, 1, 200000);
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const double scale = i % 3 == 0 ? 1e-9 : 1, y = scale * points[i], x = points[i + 1];
    worst = std::max(worst, error_in_ulp(arc_tangent(y, x), std::atan2((long double)(y), (long double)(x))));
  }
  EXPECT_LT(worst, 2.5);
  EXPECT_EQ(arc_tangent(0.0, 1.0), 0.0);
  EXPECT_EQ(arc_tangent(1.0, 0.0), 1.5707963267948966);
  EXPECT_EQ(arc_tangent(0.0, -1.0), 3.1415926535897931);
  EXPECT_EQ(arc_tangent(-1.0, 0.0), -1.5707963267948966);
  EXPECT_EQ(arc_tangent(0.0, 0.0), 0.0);
}

/// Compares the bits of f on blocks of W numbers with those of f on single numbers.
template <int W, class F>
void expect_same_bits(const std::vector<double>& x, F f) {
  using R = LaneReal<double, W>;
  for (size_t i = 0; i + W <= x.size(); i += W) {
    alignas(64) double in[W], out[W];
    std::memcpy(in, &x[i], sizeof(in));
    store_real(out, R(f(load_real<R>(in))));
    for (int k = 0; k < W; ++k) {
      const double expected = f(x[i + size_t(k)]);
      ASSERT_EQ(bits_of(out[k]), bits_of(expected)) << "x = " << in[k] << ", W = " << W;
    }
  }
}

template <int W>
void check_lane_count() {
  std::vector<double> x = sample(-50, 50, 4000);
  for (const double special : {0.0, -0.0, 0x1p-1070, -800.0, 800.0, 1.0, 0.5, -0.5, 0.25, infinity, -infinity,
                               1e-300, 0.70710678118654757, 1.4142135623730951, -1.0, 2.0})
    x.push_back(special);
  expect_same_bits<W>(x, [](auto v) { return exponential(v); });
  expect_same_bits<W>(x, [](auto v) { return logarithm(absolute(v)); });
  std::vector<double> finite = sample(-50, 50, 4000);
  expect_same_bits<W>(finite, [](auto v) { return sin_cos(v).sin; });
  expect_same_bits<W>(finite, [](auto v) { return sin_cos(v).cos; });
  expect_same_bits<W>(finite, [](auto v) { return sin_cos_2pi(v).sin; });
  expect_same_bits<W>(finite, [](auto v) { return sin_cos_2pi(v).cos; });
  expect_same_bits<W>(finite, [](auto v) { return square_root(absolute(v)); });
  expect_same_bits<W>(finite, [](auto v) { return smaller_of(v, nearest_integer(v)); });
}

TEST(LaneMath, has_the_same_bits_for_every_lane_count) {
  check_lane_count<4>();
  check_lane_count<8>();
  check_lane_count<16>();
}

}  // namespace in_test_lane_math
}  // namespace trellis
