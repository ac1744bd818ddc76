/// 16-bit fixed point: rounding to nearest even, the same for every lane count; the largest component
/// survives.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_fields.hpp"
#include "trellis/algebra/fixed_point.hpp"

namespace trellis {
namespace {

template <int W>
void expect_rounding_like_scalars() {
  using R = LaneReal<float, W>;
  test::Random random(3);
  std::vector<float> inputs{0.0f,  -0.0f, 0.5f,     1.5f,      2.5f,     -0.5f,
                            -1.5f, -2.5f, 32766.5f, -32766.5f, 32767.0f, -32767.0f};
  while (inputs.size() < 4096) {
    const float x = 32767.0f * float(random.symmetric());
    inputs.push_back(x);
    inputs.push_back(std::floor(x) + 0.5f);  // ties
  }
  inputs.resize(inputs.size() / 16 * 16);
  for (float& x : inputs) x = std::fmin(std::fmax(x, -32767.0f), 32767.0f);
  for (size_t at = 0; at < inputs.size(); at += W) {
    alignas(64) float x[W];
    alignas(32) int16_t q[W];
    for (int i = 0; i < W; ++i) x[i] = inputs[at + size_t(i)];
    store_fixed(q, load_real<R>(x));
    const R back = load_fixed(q, static_cast<R*>(nullptr));
    for (int i = 0; i < W; ++i) {
      ASSERT_EQ(q[i], int16_t(std::nearbyint(double(x[i])))) << x[i] << " in lane " << i << " of " << W;
      ASSERT_EQ(lane(back, i), float(q[i]));
    }
  }
}

TEST(FixedPoint, rounds_to_nearest_even_in_every_lane_count) {
  expect_rounding_like_scalars<1>();
  expect_rounding_like_scalars<4>();
  expect_rounding_like_scalars<8>();
  expect_rounding_like_scalars<16>();
}

TEST(FixedPoint, a_unit_times_the_largest_integer_is_one) { EXPECT_EQ(32767.0f * fixed_point_unit, 1.0f); }

}  // namespace
}  // namespace trellis
