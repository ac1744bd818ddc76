// threads: 2
/// Order-free sums have the same bits in any order, grouping, buffer or thread count, and they are the right
/// number.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "tests/support/random_fields.hpp"
#include "trellis/algebra/partial_sum.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {
namespace in_test_exact_sum {

ExactSum sum_of(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double x : terms) sum.add(x);
  return sum;
}

void shuffle(std::vector<double>& terms, test::Random& random) {
  for (size_t i = terms.size(); i > 1; --i) std::swap(terms[i - 1], terms[size_t(random.below(int(i)))]);
}

uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }

/// Makes terms of very different sizes and both signs, with powers 2^-range..2^range.
std::vector<double> random_terms(size_t n, int range, uint64_t seed) {
  test::Random random(seed);
  std::vector<double> terms(n);
  for (double& x : terms) x = std::ldexp(random.symmetric(), random.below(2 * range + 1) - range);
  return terms;
}

/// Returns the error of the definition: each term is rounded to the unit of the lowest of three bins, or
/// dropped where it is smaller, and the sum is rounded.
double allowed_error(const std::vector<double>& terms, double result) {
  double largest = 0;
  for (const double x : terms) largest = std::max(largest, std::abs(x));
  const double unit = std::ldexp(1.0, exact_sum_bin_bits * (exact_sum_bin(largest) - exact_sum_bins + 1));
  return unit * double(terms.size()) + std::abs(result) * 0x1p-53;
}

TEST(ExactSum, order_and_grouping_do_not_matter) {
  test::Random random(1);
  for (const int range : {0, 3, 30, 41, 100, 400})
    for (const size_t n : {size_t(1), size_t(2), size_t(17), size_t(1000)}) {
      std::vector<double> terms = random_terms(n, range, 100 * n + size_t(range));
      const uint64_t expected = bits(sum_of(terms).value());
      for (int repeat = 0; repeat < 20; ++repeat) {
        shuffle(terms, random);
        ASSERT_EQ(bits(sum_of(terms).value()), expected) << "range " << range << ", n " << n;
        // Groups have random length, and are merged in random order.
        std::vector<ExactSum> groups;
        for (size_t at = 0; at < n;) {
          const size_t length = std::min(n - at, size_t(1 + random.below(50)));
          groups.push_back(sum_of({terms.begin() + int64_t(at), terms.begin() + int64_t(at + length)}));
          at += length;
        }
        while (groups.size() > 1) {
          const size_t k = size_t(random.below(int(groups.size()) - 1));
          groups[k].merge(groups.back());
          groups.pop_back();
        }
        ASSERT_EQ(bits(groups[0].value()), expected) << "range " << range << ", n " << n;
      }
    }
}

TEST(ExactSum, sorted_orders_do_not_matter) {
  std::vector<double> terms = random_terms(3000, 200, 5);
  const uint64_t expected = bits(sum_of(terms).value());
  auto by_size = [](double a, double b) { return std::abs(a) < std::abs(b); };
  std::sort(terms.begin(), terms.end(), by_size);
  EXPECT_EQ(bits(sum_of(terms).value()), expected);
  std::reverse(terms.begin(), terms.end());
  EXPECT_EQ(bits(sum_of(terms).value()), expected);
  std::sort(terms.begin(), terms.end());
  EXPECT_EQ(bits(sum_of(terms).value()), expected);
}

/// Terms lie just below the bins that count: 0.75 would round to a unit of the lowest bin behind 2^80.
TEST(ExactSum, small_terms_are_dropped_in_any_order) {
  EXPECT_EQ(sum_of({0.75, 0x1p80, -0x1p80}).value(), 0.0);
  EXPECT_EQ(sum_of({0x1p80, 0.75, -0x1p80}).value(), 0.0);
  EXPECT_EQ(sum_of({0x1p80, -0x1p80, 0.75}).value(), 0.0);
  EXPECT_EQ(sum_of({0x1p80, 1.75, -0x1p80}).value(), 2.0) << "in the lowest bin a term is rounded";
  EXPECT_EQ(sum_of({1.75, 0x1p80, -0x1p80}).value(), 2.0);
  EXPECT_EQ(sum_of({0.75, 0.75}).value(), 1.5);
  test::Random random(7);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> terms = random_terms(400, 90, 500 + uint64_t(repeat));
    for (size_t i = 0; i + 1 < terms.size(); i += 2)  // large ones cancel
      if (std::abs(terms[i]) > 1) terms[i + 1] = -terms[i];
    const uint64_t expected = bits(sum_of(terms).value());
    shuffle(terms, random);
    ASSERT_EQ(bits(sum_of(terms).value()), expected);
    for (const size_t share : {size_t(1), size_t(37), size_t(400)}) {
      ExactSum all;
      for (size_t at = 0; at < terms.size(); at += share) {
        cpu::TermBuffer buffer;
        for (size_t i = at; i < std::min(at + share, terms.size()); ++i) buffer.push(terms[i]);
        all.merge(buffer.take());
      }
      ASSERT_EQ(bits(all.value()), expected) << "shares of " << share;
    }
  }
}

TEST(ExactSum, agrees_with_quadruple_precision) {
  for (const int range : {0, 10, 30})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<double> terms = random_terms(5000, range, 1000 + seed);
      __float128 exact = 0;  // 113 bits are exact for these ranges up to 2^-100 of the largest term
      for (const double x : terms) exact += x;
      const double value = sum_of(terms).value();
      EXPECT_LE(std::abs(double(exact - __float128(value))), allowed_error(terms, value))
          << "range " << range;
    }
}

TEST(ExactSum, cancellation_leaves_the_small_term) {
  // All lie within 2^80 of the largest term, and are kept exactly.
  const double small = std::ldexp(1.0, -70) + std::ldexp(1.0, -75);
  EXPECT_EQ(sum_of({1.0, small, -1.0}).value(), small);
  EXPECT_EQ(sum_of({small, 1.0, -1.0}).value(), small);
  EXPECT_EQ(sum_of({0.1, 0.2, -0.1, -0.2}).value(), 0.0);
  EXPECT_EQ(sum_of({1e280, 1.0, -1e280}).value(), sum_of({1e280, -1e280, 1.0}).value());
  // Sums of integers are exact.
  ExactSum integers;
  for (int i = 1; i <= 100000; ++i) integers.add(i % 2 == 0 ? i : -i);
  EXPECT_EQ(integers.value(), 50000.0);
}

TEST(ExactSum, ten_tenths_are_the_rounded_sum_of_their_bits) {
  const std::vector<double> tenths(10, 0.1);
  EXPECT_EQ(sum_of(tenths).value(), double(__float128(0.1) * 10));
}

TEST(ExactSum, zero_and_nothing) {
  EXPECT_EQ(ExactSum{}.value(), 0.0);
  EXPECT_EQ(sum_of({0.0, -0.0, 0.0}).value(), 0.0);
  ExactSum sum = sum_of({1.5});
  sum.merge(ExactSum{});
  EXPECT_EQ(sum.value(), 1.5);
  ExactSum nothing;
  nothing.merge(sum);
  EXPECT_EQ(nothing.value(), 1.5);
}

TEST(ExactSum, tiny_and_subnormal_terms) {
  const double tiny = std::ldexp(1.0, -1000);
  EXPECT_EQ(sum_of({tiny, tiny, tiny}).value(), 3 * tiny);
  EXPECT_EQ(sum_of({1.0, tiny, -1.0}).value(),
            0.0);  // it lies below 2^-80 of the largest term: it is dropped, in any order
  EXPECT_EQ(sum_of({tiny, 1.0, -1.0}).value(), 0.0);
  const double subnormal = std::ldexp(1.0, -1030);
  EXPECT_EQ(sum_of({subnormal, subnormal}).value(), 2 * subnormal);
}

TEST(ExactSum, nan_and_infinity_give_nan_everywhere) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity, -infinity}) {
    EXPECT_TRUE(std::isnan(sum_of({1.0, bad, 2.0}).value()));
    ExactSum sum = sum_of({1.0});
    sum.merge(sum_of({bad}));
    EXPECT_TRUE(std::isnan(sum.value()));
  }
  EXPECT_TRUE(std::isnan(sum_of({infinity, -infinity}).value()));
}

TEST(ExactSum, overflow_throws) {
  EXPECT_THROW(sum_of({1e300, 1.0}).value(), NumericError);  // 1e300 is larger than 2^960
  EXPECT_EQ(sum_of({std::ldexp(1.0, 959)}).value(), std::ldexp(1.0, 959));
  ExactSum sum = sum_of({1.0});
  sum.merge(sum_of({std::numeric_limits<double>::max()}));
  EXPECT_THROW(sum.value(), NumericError);
}

// The next tests cover the sum of a thread on a device.

void expect_the_same(const ExactSum& a, const ExactSum& b) {
  EXPECT_EQ(a.top, b.top);
  EXPECT_EQ(a.is_not_finite, b.is_not_finite);
  EXPECT_EQ(a.is_too_large, b.is_too_large);
  for (int k = 0; k < exact_sum_bins; ++k) EXPECT_TRUE(a.bins[k] == b.bins[k]) << "bin " << k;
}

TEST(PartialSum, has_the_bins_of_an_exact_sum) {
  test::Random random(3);
  for (const int range : {0, 3, 30, 41, 100, 400, 950})
    for (const size_t n : {size_t(1), size_t(2), size_t(17), size_t(5000)}) {
      const std::vector<double> terms = random_terms(n, range, 10 * n + size_t(range));
      PartialSum whole, parts[8];
      for (const double x : terms) whole.add(x);
      for (const double x : terms) parts[random.below(8)].add(x);
      for (int i = 1; i < 8; ++i) parts[0].merge(parts[i]);
      expect_the_same(whole.sum(), sum_of(terms));
      expect_the_same(parts[0].sum(), sum_of(terms));
    }
}

TEST(PartialSum, takes_every_double) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double cases[] = {0.0,
                          -0.0,
                          5e-324,
                          0x1p-1022,
                          0x1p-960,
                          0x1.8p-921,
                          0x1p-920,
                          -0x1p-920,
                          0.75,
                          1.0,
                          0x1p40,
                          0x1p80,
                          -0x1p40,
                          std::nextafter(0x1p40, 0.0),
                          0x1p959,
                          std::nextafter(0x1p960, 0.0),
                          0x1p960,
                          -1e300,
                          std::numeric_limits<double>::max(),
                          infinity,
                          -infinity,
                          std::numeric_limits<double>::quiet_NaN()};
  for (const double a : cases)
    for (const double b : cases) {
      PartialSum sum;
      sum.add(a);
      sum.add(b);
      expect_the_same(sum.sum(), sum_of({a, b}));
    }
}

// These tests take the buffered deposit and the parallel reduction of the CPU backend.

template <int W>
double buffered_sum(const std::vector<double>& terms) {
  using R = LaneReal<double, W>;
  cpu::TermBuffer buffer;
  for (size_t i = 0; i < terms.size(); i += W) {
    alignas(128) double x[W];
    for (size_t k = 0; k < W; ++k) x[k] = i + k < terms.size() ? terms[i + k] : 0.0;
    buffer.push(load_real<R>(x));
  }
  return buffer.take().value();
}

TEST(TermBuffer, equals_adding_terms_one_by_one) {
  test::Random random(2);
  for (const int range : {0, 30, 150, 450})
    for (const size_t n : {size_t(1), size_t(7), size_t(511), size_t(512), size_t(513), size_t(5000)}) {
      std::vector<double> terms = random_terms(n, range, n + size_t(range));
      const uint64_t expected = bits(sum_of(terms).value());
      EXPECT_EQ(bits(buffered_sum<1>(terms)), expected) << "range " << range << ", n " << n;
      EXPECT_EQ(bits(buffered_sum<4>(terms)), expected);
      EXPECT_EQ(bits(buffered_sum<8>(terms)), expected);
      EXPECT_EQ(bits(buffered_sum<16>(terms)), expected);
      shuffle(terms, random);
      EXPECT_EQ(bits(buffered_sum<8>(terms)), expected);
    }
}

TEST(TermBuffer, nan_infinity_and_overflow) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const size_t at : {size_t(0), size_t(3), size_t(600)}) {
      std::vector<double> terms(1000, 1.0);
      terms[at] = bad;
      EXPECT_TRUE(std::isnan(buffered_sum<8>(terms))) << bad << " at " << at;
    }
  EXPECT_THROW(buffered_sum<8>({1.0, 2.0, 1e300}), NumericError);
  EXPECT_EQ(buffered_sum<4>(std::vector<double>(100, 0.0)), 0.0);
}

TEST(ReduceSites, thread_count_and_site_order_do_not_matter) {
  const std::vector<double> terms = random_terms(4000, 60, 77);
  const uint64_t expected = bits(sum_of(terms).value());
  std::vector<int32_t> list(terms.size() / 8);
  for (size_t i = 0; i < list.size(); ++i) list[i] = int32_t(list.size() - 1 - i);
  auto term = [&](int block) {
    std::array<Lanes<double, 8>, 2> r;
    for (int k = 0; k < 8; ++k) {
      r[0].set(k, terms[size_t(8 * block + k)]);
      r[1].set(k, 2 * terms[size_t(8 * block + k)]);
    }
    return r;
  };
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const SiteRange& range : {SiteRange(int(list.size())), SiteRange(list)}) {
      ExactSum sums[2];
      cpu::reduce_sites<2>(range, term, sums);
      EXPECT_EQ(bits(sums[0].value()), expected) << threads << " threads";
      EXPECT_EQ(sums[1].value(), 2 * sums[0].value());
    }
  }
}

}  // namespace in_test_exact_sum
}  // namespace trellis
