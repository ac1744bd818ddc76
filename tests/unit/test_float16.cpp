/// IEEE 754 binary16 has every number, and rounding to nearest even, the same for every lane count.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random_fields.hpp"
#include "trellis/algebra/float16.hpp"

namespace trellis {
namespace in_test_float16 {

/// Returns what the 16 bits mean, by the definition of the format.
double value_of(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

Float16 with_bits(int bits) {
  Float16 h;
  h.bits = uint16_t(bits);
  return h;
}

/// Returns the nearest stored number by a search among the positive ones, the even one of two that are as
/// near.
uint16_t nearest(float x) {
  const double magnitude = std::fabs(double(x));
  int low = 0, high = 0x7c00;  // infinity stands for 2^16
  const auto size = [](int bits) { return bits == 0x7c00 ? 65536.0 : value_of(uint16_t(bits)); };
  while (high - low > 1) (size((low + high) / 2) <= magnitude ? low : high) = (low + high) / 2;
  if (size(high) <= magnitude) low = high;
  const double below = magnitude - size(low), above = size(std::min(low + 1, 0x7c00)) - magnitude;
  const bool goes_up = low < 0x7c00 && (above < below || (above == below && low % 2 == 1));
  return uint16_t((low + (goes_up ? 1 : 0)) | (std::signbit(x) ? 0x8000 : 0));
}

template <int W>
void expect_every_number() {
  using R = LaneReal<float, W>;
  for (int first = 0; first < 65536; first += W) {
    alignas(32) Float16 stored[W], again[W];
    for (int i = 0; i < W; ++i) stored[i] = with_bits(first + i);
    const R x = load_real<R>(stored);
    store_real(again, x);
    for (int i = 0; i < W; ++i) {
      const double expected = value_of(stored[i].bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(lane(x, i)) && std::isnan(float(again[i]))) << first + i;
        continue;
      }
      ASSERT_EQ(double(lane(x, i)), expected) << first + i << " in " << W << " lanes";
      ASSERT_EQ(again[i].bits, stored[i].bits) << first + i << " in " << W << " lanes";
    }
  }
}

TEST(Float16, has_every_number_of_the_format) {
  expect_every_number<1>();
  expect_every_number<4>();
  expect_every_number<8>();
  expect_every_number<16>();
}

std::vector<float> inputs() {
  std::vector<float> x{0.0f,  -0.0f,    65519.9f,        65520.0f, -65520.0f,
                       1e30f, 0x1p-25f, 0x1.000002p-25f, 0x1p-26f};
  for (int bits = 0; bits < 0x7c00; ++bits) {  // these are ties, and numbers next to them
    const float tie = float((value_of(uint16_t(bits)) + value_of(uint16_t(bits + 1))) / 2);
    if (!std::isfinite(tie)) continue;
    x.insert(x.end(), {tie, -tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e6f)});
  }
  test::Random random(5);
  for (int i = 0; i < 20000; ++i) x.push_back(float(random.symmetric() * std::exp(14 * random.symmetric())));
  x.resize(x.size() / 16 * 16);
  return x;
}

template <int W>
void expect_nearest(const std::vector<float>& x) {
  using R = LaneReal<float, W>;
  for (size_t at = 0; at < x.size(); at += W) {
    alignas(64) float values[W];
    alignas(32) Float16 stored[W];
    for (int i = 0; i < W; ++i) values[i] = x[at + size_t(i)];
    store_real(stored, load_real<R>(values));
    for (int i = 0; i < W; ++i)
      ASSERT_EQ(stored[i].bits, nearest(values[i])) << values[i] << " in " << W << " lanes";
  }
}

TEST(Float16, rounds_to_nearest_even_in_every_lane_count) {
  const std::vector<float> x = inputs();
  expect_nearest<1>(x);
  expect_nearest<4>(x);
  expect_nearest<8>(x);
  expect_nearest<16>(x);
}

TEST(Float16, keeps_what_is_not_finite) {
  EXPECT_TRUE(std::isnan(float(Float16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(float(Float16(-std::numeric_limits<float>::infinity())), -HUGE_VALF);
}

}  // namespace in_test_float16
}  // namespace trellis
