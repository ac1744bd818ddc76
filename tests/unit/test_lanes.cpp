/// Lanes<T, W> agrees with scalar loops, bit for bit, for every lane count in use.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tests/support/random_fields.hpp"
#include "trellis/algebra/lane_functions.hpp"

namespace trellis {
namespace in_test_lanes {

template <class T>
auto bits_of(T x) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(x);
  else
    return std::bit_cast<uint64_t>(x);
}

template <class T, int W>
struct LaneCase {
  using Scalar = T;
  static constexpr int width = W;
};

/// Returns numbers of many sizes, and the awkward ones.
template <class T>
T awkward(test::Random& random) {
  switch (random.below(12)) {
    case 0:
      return T(0);
    case 1:
      return -T(0);
    case 2:
      return std::numeric_limits<T>::min();
    case 3:
      return std::numeric_limits<T>::denorm_min() * T(random.below(100));
    case 4:
      return std::numeric_limits<T>::max();
    default:
      return std::ldexp(T(random.symmetric()), random.below(40) - 20);
  }
}

template <class Case>
class LanesTest : public ::testing::Test {
 protected:
  using T = typename Case::Scalar;
  static constexpr int W = Case::width;
  using R = LaneReal<T, W>;

  /// Checks that op on lanes and on scalars gives the same bits in every lane (or both NaN).
  template <class LaneOp, class ScalarOp>
  void expect_same(const LaneOp& lane_op, const ScalarOp& scalar_op) {
    test::Random random(7 + W);
    for (int repeat = 0; repeat < 2000; ++repeat) {
      alignas(64) T a[W], b[W], c[W];
      for (int i = 0; i < W; ++i) {
        a[i] = awkward<T>(random);
        b[i] = awkward<T>(random);
        c[i] = awkward<T>(random);
      }
      const R r = lane_op(load_real<R>(a), load_real<R>(b), load_real<R>(c));
      for (int i = 0; i < W; ++i) {
        const T expected = scalar_op(a[i], b[i], c[i]), seen = lane(r, i);
        if (std::isnan(expected) && std::isnan(seen)) continue;
        ASSERT_EQ(bits_of(seen), bits_of(expected))
            << "lane " << i << " of " << a[i] << ", " << b[i] << ", " << c[i];
      }
    }
  }
};

using Cases =
    ::testing::Types<LaneCase<float, 1>, LaneCase<float, 4>, LaneCase<float, 8>, LaneCase<float, 16>,
                     LaneCase<double, 1>, LaneCase<double, 4>, LaneCase<double, 8>, LaneCase<double, 16>>;
TYPED_TEST_SUITE(LanesTest, Cases);

TYPED_TEST(LanesTest, arithmetic) {
  using T = typename TestFixture::T;
  using R = typename TestFixture::R;
  this->expect_same([](R a, R b, R) { return a + b; }, [](T a, T b, T) { return a + b; });
  this->expect_same([](R a, R b, R) { return a - b; }, [](T a, T b, T) { return a - b; });
  this->expect_same([](R a, R b, R) { return a * b; }, [](T a, T b, T) { return a * b; });
  this->expect_same([](R a, R b, R) { return a / b; }, [](T a, T b, T) { return a / b; });
  this->expect_same([](R a, R, R) { return -a; }, [](T a, T, T) { return -a; });
}

TYPED_TEST(LanesTest, fused_multiply_add_is_rounded_once) {
  using T = typename TestFixture::T;
  using R = typename TestFixture::R;
  this->expect_same([](R a, R b, R c) { return fma(a, b, c); },
                    [](T a, T b, T c) { return std::fma(a, b, c); });
  this->expect_same([](R a, R b, R c) { return fnma(a, b, c); },
                    [](T a, T b, T c) { return std::fma(-a, b, c); });
}

TYPED_TEST(LanesTest, square_root_absolute_maximum) {
  using T = typename TestFixture::T;
  using R = typename TestFixture::R;
  this->expect_same([](R a, R, R) { return square_root(a * a); }, [](T a, T, T) { return std::sqrt(a * a); });
  this->expect_same([](R a, R, R) { return absolute(a); }, [](T a, T, T) { return a < 0 ? -a : a; });
  this->expect_same([](R a, R b, R) { return maximum(a, b); }, [](T a, T b, T) { return a < b ? b : a; });
}

TYPED_TEST(LanesTest, broadcast_keeps_minus_zero_and_set_changes_one_lane) {
  using T = typename TestFixture::T;
  using R = typename TestFixture::R;
  constexpr int W = TestFixture::W;
  const R minus_zero(-T(0));
  R counted(T(5));
  for (int i = 0; i < W; ++i) set_lane(counted, i, T(i));
  alignas(64) T stored[W];
  store_real(stored, counted);
  for (int i = 0; i < W; ++i) {
    EXPECT_EQ(bits_of(lane(minus_zero, i)), bits_of(-T(0)));
    EXPECT_EQ(lane(counted, i), T(i));
    EXPECT_EQ(stored[i], T(i));
  }
}

TYPED_TEST(LanesTest, permutation) {
  using T = typename TestFixture::T;
  using R = typename TestFixture::R;
  constexpr int W = TestFixture::W;
  if constexpr (W > 1) {
    test::Random random(11);
    for (int repeat = 0; repeat < 200; ++repeat) {
      alignas(64) T a[W];
      alignas(64) int32_t source[max_lanes] = {};
      for (int i = 0; i < W; ++i) {
        a[i] = T(random.symmetric());
        source[i] = random.below(W);
      }
      const R r = permute(load_real<R>(a), source);
      for (int i = 0; i < W; ++i) ASSERT_EQ(lane(r, i), a[source[i]]) << "lane " << i;
    }
  }
}

TYPED_TEST(LanesTest, conversion) {
  using T = typename TestFixture::T;
  using R = typename TestFixture::R;
  constexpr int W = TestFixture::W;
  test::Random random(13);
  for (int repeat = 0; repeat < 500; ++repeat) {
    alignas(64) T a[W];
    for (int i = 0; i < W; ++i) a[i] = awkward<T>(random);
    const LaneReal<float, W> f = convert_real<float>(load_real<R>(a));
    const LaneReal<double, W> d = convert_real<double>(load_real<R>(a));
    for (int i = 0; i < W; ++i) {
      ASSERT_EQ(bits_of(lane(f, i)), bits_of(float(a[i])));
      ASSERT_EQ(bits_of(lane(d, i)), bits_of(double(a[i])));
    }
  }
}

/// The same fused expression stands in every lane count: the compiler contracts nothing.
TEST(Lanes, an_expression_has_the_same_bits_for_every_width) {
  test::Random random(17);
  alignas(64) double a[16], b[16], c[16];
  for (int i = 0; i < 16; ++i) {
    a[i] = random.symmetric();
    b[i] = random.symmetric();
    c[i] = random.symmetric();
  }
  auto expression = [](auto x, auto y, auto z) { return x * y + z * z - x * z; };
  auto check = [&]<int W>(std::integral_constant<int, W>) {
    using R = LaneReal<double, W>;
    for (int i = 0; i < 16; i += W) {
      const R r = expression(load_real<R>(a + i), load_real<R>(b + i), load_real<R>(c + i));
      for (int k = 0; k < W; ++k) {
        // volatile forbids a contraction here, too, whatever the flags.
        volatile double xy = a[i + k] * b[i + k], zz = c[i + k] * c[i + k], xz = a[i + k] * c[i + k];
        volatile double sum = xy + zz;
        EXPECT_EQ(bits_of(lane(r, k)), bits_of(double(sum - xz))) << "W = " << W;
      }
    }
  };
  check(std::integral_constant<int, 1>{});
  check(std::integral_constant<int, 4>{});
  check(std::integral_constant<int, 8>{});
  check(std::integral_constant<int, 16>{});
}

}  // namespace in_test_lanes
}  // namespace trellis
