/// Random numbers have frozen vectors, agree with Random123, and have the same bits on lanes and the first
/// moments.
#include <gtest/gtest.h>

#include <Random123/philox.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "trellis/algebra/random.hpp"
#include "trellis/lattice/global_sites.hpp"

namespace trellis {
namespace in_test_random {

struct Vector {
  uint64_t seed, stream;
  uint32_t purpose, trajectory;
  uint64_t site;
  uint32_t draw, words[4];
  double first, second;
};

// They are computed by a separate program in another language; the same table stands in
// doc/random_numbers.md.
const Vector vectors[] = {
    {0u,
     0u,
     0,
     0u,
     0,
     0u,
     {0xd7537fc8, 0x4787ca68, 0x473ddb06, 0xc80480ec},
     0x1.1e1f29a35d4dep-2,
     0x1.900901d88e7bbp-1},
    {1u,
     0u,
     3,
     0u,
     0,
     0u,
     {0x610a3231, 0xccd6c792, 0x2a5d3d07, 0xea6b1f24},
     0x1.99ad8f24c2147p-1,
     0x1.d4d63e4854ba7p-1},
    {1u,
     0u,
     3,
     0u,
     1,
     0u,
     {0xadb11901, 0xe740f7e9, 0xf0fa5132, 0xf95957ef},
     0x1.ce81efd35b623p-1,
     0x1.f2b2afdfe1f4bp-1},
    {1u,
     0u,
     3,
     1u,
     0,
     0u,
     {0x63f27a06, 0x7250ce6c, 0x4f776d6e, 0x3db03c73},
     0x1.c94339b18fc9ep-2,
     0x1.ed81e39a7bbb4p-3},
    {1u,
     0u,
     3,
     0u,
     0,
     1u,
     {0x5f5a8398, 0xf456466a, 0x5aa806f6, 0x120f2ed7},
     0x1.e8ac8cd4beb51p-1,
     0x1.20f2ed75aa808p-4},
    {1u,
     1u,
     3,
     0u,
     0,
     0u,
     {0x6feb9f5a, 0xe586cd03, 0x3e537122, 0xf643bf3c},
     0x1.cb0d9a06dfd73p-1,
     0x1.ec877e787ca6fp-1},
    {2u,
     0u,
     3,
     0u,
     0,
     0u,
     {0xe628617e, 0xb3ad0801, 0x7debd04a, 0xd5c61384},
     0x1.675a1003cc50dp-1,
     0x1.ab8c2708fbd7bp-1},
    {18446744073709551615u,
     18446744073709551615u,
     65535,
     4294967295u,
     281474976710655,
     4294967295u,
     {0xe629655e, 0x4c52abba, 0x48bb86fb, 0x9b7a9dce},
     0x1.314aaeeb98a5ap-2,
     0x1.36f53b9c91771p-1},
    {20260101u,
     7u,
     4,
     1234u,
     65535,
     262147u,
     {0xad89edb4, 0x21df9ba7, 0x321422a1, 0x55d78d81},
     0x1.0efcdd3d6c4f4p-3,
     0x1.575e3604c850ap-2},
    {314159265358979u,
     2718281828u,
     7,
     99u,
     4294967296,
     31u,
     {0x6a230a1f, 0x24b09397, 0x1a1981bb, 0xb7fd1c9e},
     0x1.25849cbb51184p-3,
     0x1.6ffa393c34331p-1},
};

SiteRandom<double> random_of(const Vector& v) {
  return SiteRandom<double>(random_key(v.seed, v.stream), RandomPurpose(v.purpose), v.trajectory, v.site);
}

TEST(Random, gives_the_frozen_vectors) {
  for (const Vector& v : vectors) {
    const auto words = random_of(v).words(v.draw);
    for (size_t k = 0; k < 4; ++k) EXPECT_EQ(words[k], v.words[k]);
    const auto u = random_of(v).uniform_pair(v.draw);
    EXPECT_EQ(u[0], v.first);
    EXPECT_EQ(u[1], v.second);
  }
}

TEST(Random, documents_the_frozen_vectors) {
  std::ifstream file("doc/random_numbers.md");
  ASSERT_TRUE(file) << "run from the root of the source tree";
  std::stringstream text;
  text << file.rdbuf();
  for (const Vector& v : vectors) {
    char row[200];
    std::snprintf(row, sizeof(row), "| %llu | %llu | %u | %u | %llu | %u | %08x %08x %08x %08x |",
                  (unsigned long long)v.seed, (unsigned long long)v.stream, v.purpose, v.trajectory,
                  (unsigned long long)v.site, v.draw, v.words[0], v.words[1], v.words[2], v.words[3]);
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

TEST(Random, philox_agrees_with_random123) {
  uint64_t state = 1;
  for (int n = 0; n < 1000; ++n) {
    uint32_t w[6];
    for (auto& word : w) word = uint32_t(mix_bits(state++));
    const auto expected = r123::Philox4x32()({{w[0], w[1], w[2], w[3]}}, {{w[4], w[5]}});
    const auto found = philox<uint64_t>({w[0], w[1], w[2], w[3]}, RandomKey{{w[4], w[5]}});
    for (size_t k = 0; k < 4; ++k) ASSERT_EQ(found[k], expected[k]);
  }
}

template <int W>
void expect_lanes_equal_scalars() {
  using R = LaneReal<double, W>;
  const RandomKey key = random_key(99, 3);
  int64_t sites[W];
  for (int k = 0; k < W; ++k) sites[k] = (int64_t(k) << 30) + 17 * k + 1;
  const SiteRandom<R> lanes(key, RandomPurpose::heatbath, 5, load_integers<R>(sites));
  for (uint32_t draw = 0; draw < 200; ++draw) {
    const auto u = lanes.uniform_pair(draw), g = lanes.gaussian_pair(draw);
    const R two = lanes.z2(draw);
    const Complex<R> four = lanes.z4(draw);
    for (int k = 0; k < W; ++k) {
      const SiteRandom<double> one(key, RandomPurpose::heatbath, 5, uint64_t(sites[k]));
      for (size_t j = 0; j < 2; ++j) {
        ASSERT_EQ(lane(u[j], k), one.uniform_pair(draw)[j]);
        ASSERT_EQ(bits_of(lane(g[j], k)), bits_of(one.gaussian_pair(draw)[j]));
      }
      ASSERT_EQ(lane(two, k), one.z2(draw));
      ASSERT_EQ(lane(four.re, k), one.z4(draw).re);
      ASSERT_EQ(lane(four.im, k), one.z4(draw).im);
    }
  }
}

TEST(Random, has_the_same_bits_on_lanes) {
  expect_lanes_equal_scalars<4>();
  expect_lanes_equal_scalars<8>();
  expect_lanes_equal_scalars<16>();
}

TEST(Random, moments_of_the_distributions) {
  const int n = 100000;
  double u1 = 0, u2 = 0, g1 = 0, g2 = 0, g4 = 0, two = 0, product = 0;
  int quarters[4] = {0, 0, 0, 0};
  for (int i = 0; i < n; ++i) {
    const SiteRandom<double> random(random_key(1, 0), RandomPurpose::test, 0, uint64_t(i));
    for (const double u : random.uniform_pair(0)) {
      ASSERT_GT(u, 0.0);
      ASSERT_LT(u, 1.0);
      u1 += u;
      u2 += u * u;
    }
    const auto g = random.gaussian_pair(1);
    product += g[0] * g[1];
    for (const double x : g) {
      g1 += x;
      g2 += x * x;
      g4 += x * x * x * x;
    }
    two += random.z2(2);
    const Complex<double> z = random.z4(3);
    EXPECT_EQ(z.re * z.re + z.im * z.im, 1.0);
    ++quarters[z.re > 0.5 ? 0 : z.im > 0.5 ? 1 : z.re < -0.5 ? 2 : 3];
  }
  // It allows five standard deviations of the means.
  const double m = 2.0 * n, five = 5.0;
  EXPECT_NEAR(u1 / m, 0.5, five * std::sqrt(1.0 / 12 / m));
  EXPECT_NEAR(u2 / m, 1.0 / 3, five * std::sqrt(4.0 / 45 / m));
  EXPECT_NEAR(g1 / m, 0.0, five * std::sqrt(1.0 / m));
  EXPECT_NEAR(g2 / m, 1.0, five * std::sqrt(2.0 / m));
  EXPECT_NEAR(g4 / m, 3.0, five * std::sqrt(96.0 / m));
  EXPECT_NEAR(product / n, 0.0, five * std::sqrt(1.0 / n));
  EXPECT_NEAR(two / n, 0.0, five * std::sqrt(1.0 / n));
  for (const int count : quarters) EXPECT_NEAR(count / double(n), 0.25, five * std::sqrt(0.25 * 0.75 / n));
}

TEST(Random, seeds_and_streams_have_different_keys) {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 100; ++seed)
    for (uint64_t stream = 0; stream < 100; ++stream) {
      const RandomKey key = random_key(seed, stream);
      keys.insert(uint64_t(key.words[1]) << 32 | key.words[0]);
    }
  EXPECT_EQ(keys.size(), 10000u);
}

TEST(Random, global_sites_of_the_layouts) {
  for (const int rank : {0, 3}) {
    const Geometry geometry({4, 4, 8, 16}, ProcessGrid({1, 1, 2, 2}), rank);
    for (const int lanes : {1, 4, 8}) {
      const ExtendedLayout extended(geometry, lanes, 2);
      const auto sites = global_sites(extended);
      const SiteLayout even_odd(geometry, lanes);
      const std::vector<int64_t> by_parity[2] = {global_sites(even_odd, 0), global_sites(even_odd, 1)};
      for (int64_t i = 0; i < geometry.local_volume(); ++i) {
        const Coord x = site_coord(i, geometry.local());
        const int64_t global = geometry.global_index(x);
        EXPECT_EQ(sites[size_t(extended.block_at(x) * extended.lanes() + extended.lane_at(x))], global);
        const SitePosition at = even_odd.position(x);
        EXPECT_EQ(by_parity[at.parity][size_t(at.block * even_odd.lanes() + at.lane)], global);
      }
    }
  }
}

}  // namespace in_test_random
}  // namespace trellis
