#pragma once
/// Random numbers are counter-based: they come from Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), the same
/// on every rank, thread, lane and machine. There is no state: a number is a function of (seed, stream,
/// purpose, trajectory, site, draw). The packing and the table of purposes are frozen in
/// doc/random_numbers.md.
///
/// The counter has four words of 32 bits. Word 0 has site bits 0-31; word 1 has site bits 32-47, and the
/// purpose in bits 16-31; word 2 is the trajectory; word 3 is the draw. The key is 64 bits of the seed with
/// the stream hashed in, lower word first.
#include <array>

#include "trellis/algebra/complex.hpp"
#include "trellis/algebra/lane_math.hpp"

namespace trellis {

/// The purpose says what a number is for: numbers of different purposes are independent. The values are
/// frozen: see doc/random_numbers.md.
enum class RandomPurpose : uint32_t {
  test = 0,
  hot_start = 1,
  weak_start = 2,
  heatbath = 3,
  momentum = 4,
  pseudofermion = 5,
  metropolis = 6,
  source_noise = 7,
  trace_noise = 8,
  gauge_transformation = 9,
  eigensolver = 10,
  solver_start = 11,
  multigrid = 12,
  spin_heatbath = 13,
  spin_start = 14,
  spin_couplings = 15,
  spin_tempering = 16,
};

struct RandomKey {
  uint32_t words[2];
};

/// Does one round of a bijective 64-bit mixer (splitmix64: Steele, Lea, Flood 2014).
constexpr uint64_t mix_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Different seeds of one stream, and different streams of one seed, have different keys.
constexpr RandomKey random_key(uint64_t seed, uint64_t stream) {
  const uint64_t key = mix_bits(seed ^ mix_bits(stream + 0x9e3779b97f4a7c15u));
  return {{uint32_t(key), uint32_t(key >> 32)}};
}

/// Does ten rounds of Philox4x32. I is uint64_t or LaneIntegers, a 32-bit word in each; results have clean
/// upper halves.
template <class I>
TRELLIS_SITE_FN std::array<I, 4> philox(const std::array<I, 4>& counter, RandomKey key) {
  std::array<I, 4> c = counter;
  for (int round = 0; round < 10; ++round) {
    const I first = multiply_32(c[0], I(0xD2511F53u)), second = multiply_32(c[2], I(0xCD9E8D57u));
    c = {shift_right(second, 32) ^ c[1] ^ I(uint64_t(key.words[0])), second,
         shift_right(first, 32) ^ c[3] ^ I(uint64_t(key.words[1])), first};
    key.words[0] += 0x9E3779B9u;
    key.words[1] += 0xBB67AE85u;
  }
  for (I& word : c) word = word & I(0xffffffffu);
  return c;
}

/// This class draws the random numbers of a site (of W sites) for one purpose and trajectory. R is double or
/// Lanes<double, W>.
template <class R>
class SiteRandom {
 public:
  using I = LaneInteger<R>;

  /// The site is an index in the whole lattice, below 2^48, and the purpose is below 2^16.
  TRELLIS_SITE_FN SiteRandom(RandomKey key, RandomPurpose purpose, uint32_t trajectory, const I& site)
      : key_{key},
        counter_{site & I(0xffffffffu), shift_right(site, 32) | I(uint64_t(purpose) << 16),
                 I(uint64_t(trajectory)), I(0)} {}

  /// Returns the four words of a draw.
  TRELLIS_SITE_FN std::array<I, 4> words(uint32_t draw) const {
    std::array<I, 4> counter = counter_;
    counter[3] = I(uint64_t(draw));
    return philox(counter, key_);
  }
  /// Returns two uniform numbers (k + 1/2) / 2^52, 0 <= k < 2^52: they are never 0 or 1. Words 0 and 1 make
  /// the first.
  TRELLIS_SITE_FN std::array<R, 2> uniform_pair(uint32_t draw) const {
    const std::array<I, 4> w = words(draw);
    return {uniform(w[0], w[1]), uniform(w[2], w[3])};
  }
  /// Returns two independent normal numbers of unit variance (Box and Muller 1958), which are at most 8.6 in
  /// absolute value.
  TRELLIS_SITE_FN std::array<R, 2> gaussian_pair(uint32_t draw) const {
    const std::array<R, 2> u = uniform_pair(draw);
    const R radius = square_root(R(-2.0) * logarithm(u[0]));
    const SinCos<R> angle = sin_cos_2pi(u[1]);
    return {radius * angle.cos, radius * angle.sin};
  }
  /// Returns +1 or -1.
  TRELLIS_SITE_FN R z2(uint32_t draw) const { return sign(words(draw)[0], 31); }
  /// Returns 1, i, -1 or -i: i^k with k the upper two bits of word 0.
  TRELLIS_SITE_FN Complex<R> z4(uint32_t draw) const {
    const I w = words(draw)[0];
    const R bit = R(0.5) * (R(1.0) - sign(w, 30)), s = sign(w, 31);
    return {s * (R(1.0) - bit), s * bit};
  }

 private:
  TRELLIS_SITE_FN static R uniform(const I& low, const I& high) {
    const I mantissa = shift_right(shift_left(high, 32) | low, 12);
    return (real_from_bits(mantissa | bits_of(R(1.0))) - R(1.0)) + R(0x1p-53);
  }
  /// Returns -1 where the bit is set, else 1.
  TRELLIS_SITE_FN static R sign(const I& word, int bit) {
    return real_from_bits(shift_left(shift_right(word, bit) & I(1), 63) | bits_of(R(1.0)));
  }

  RandomKey key_;
  std::array<I, 4> counter_;
};

}  // namespace trellis
