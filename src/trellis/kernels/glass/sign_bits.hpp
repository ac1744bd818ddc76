#pragma once
/// Couplings of +1 and -1 take one byte a site: bit `leg` of a byte is set where the bond of that leg (2 mu
/// for x+mu, 2 mu + 1 for x-mu) has the coupling -1.
#include "trellis/algebra/lanes.hpp"

namespace trellis {

/// Returns the bytes of a block, widened to integers as wide as the reals of the arithmetic.
template <class R>
struct SignBits {
  uint32_t bits;
  TRELLIS_SITE_FN static SignBits load(const uint8_t* bytes) { return {*bytes}; }
  /// Returns +1 or -1 in each lane.
  TRELLIS_SITE_FN R sign(int leg) const { return (bits >> leg & 1) != 0 ? R(-1) : R(1); }
};

#if !defined(__CUDACC__)
namespace detail {
/// It has [bit][number of four bits]: -1 where the bit is set, else 1.
alignas(64) inline constexpr float sign_of_bit[4][16] = {
    {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1},
    {1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1},
    {1, 1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1},
    {1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1}};
}  // namespace detail

template <class T, int W>
struct SignBits<Lanes<T, W, true>> {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using Words = typename detail::VectorOf<Word, W>::type;
  using Bytes = typename detail::VectorOf<uint8_t, W>::type;
  Words bits;

  TRELLIS_SITE_FN static SignBits load(const uint8_t* bytes) {
    Bytes b;
    __builtin_memcpy(&b, bytes, sizeof(b));
    return {__builtin_convertvector(b, Words)};
  }
  TRELLIS_SITE_FN Lanes<T, W, true> sign(int leg) const {
#if defined(__AVX512F__)
    if constexpr (W * sizeof(T) == 64 && sizeof(T) == 4) {  // the lower four bits of each lane look it up
      const __m512i index = __m512i(leg < 4 ? bits : bits >> 4);
      return Lanes<T, W, true>(
          _mm512_maskz_permutexvar_ps(0xffff, index, _mm512_load_ps(detail::sign_of_bit[leg % 4])));
    }
#endif
    constexpr int sign_bit = 8 * int(sizeof(T)) - 1;
    const Lanes<T, W, true> one(T(1));
    return Lanes<T, W, true>(typename Lanes<T, W, true>::Vector(
        ((bits << (sign_bit - leg)) & (Word(1) << sign_bit)) | Words(one.v)));
  }
};
template <class T, int W>
struct SignBits<Lanes<T, W, false>> {
  using Half = SignBits<Lanes<T, W / 2>>;
  Half lo, hi;
  TRELLIS_SITE_FN static SignBits load(const uint8_t* bytes) {
    return {Half::load(bytes), Half::load(bytes + W / 2)};
  }
  TRELLIS_SITE_FN Lanes<T, W, false> sign(int leg) const { return {lo.sign(leg), hi.sign(leg)}; }
};
#endif  // !__CUDACC__

}  // namespace trellis
