#pragma once
/// Fixed point takes 16 bits: a component is q s / F with q in [-F, F], s the largest |component| of its site
/// and F the full scale of the field. Two components, re and im, lie in one 32-bit number of a lane, so that
/// a complex product of stored numbers is two exact sums of integers (`add_products`) before anything is
/// converted.
#include <cstdint>
#include <cstring>

#include "trellis/algebra/lane_functions.hpp"

namespace trellis {

/// This is the F of links, a power of two, so that a product of two comes in units of one by a shift. Their
/// components are clamped to 32767: stored_link_component().
inline constexpr float link_full_scale = 32768.0f;

/// Returns the F of a field of N reals a site, by what it holds: links (18, 14, 12, 8), colour vectors (6),
/// spinors (24). A row of a link has length 32768 at most, but for rounding (7 more where it is rebuilt). Its
/// product with a colour vector of components up to F is at most 32775 sqrt(6) F, and has to stay below 2^31:
/// F = 26740. Components of a spinor are added to one another first, so F is half of that.
TRELLIS_SITE_FN constexpr float fixed_point_full_scale(int reals) {
  switch (reals) {
    case 6:
      return 26740.0f;
    case 24:
      return 13370.0f;
    case 18:
    case 14:
    case 12:
    case 8:
      return link_full_scale;
    default:
      return 32767.0f;
  }
}

/// Rounds to the nearest integer, ties to even; the lower 16 bits are 0 for a NaN.
TRELLIS_SITE_FN int32_t nearest_integer(float x) {
#if defined(__CUDA_ARCH__)
  return __float2int_rn(x);
#else
  return x == x ? int32_t(__builtin_rintf(x)) : 0;
#endif
}
TRELLIS_SITE_FN void store_fixed(int16_t* p, float x) { *p = int16_t(nearest_integer(x)); }

/// @pre |u| <= 1, but for rounding
TRELLIS_SITE_FN int16_t stored_link_component(float u) {
  const float x = u * link_full_scale;
  return int16_t(nearest_integer(x > 32767.0f ? 32767.0f : x < -32767.0f ? -32767.0f : x));
}

/// Returns the same bits as a float, to pass pairs where floats go.
TRELLIS_SITE_FN float bits_as_float(int32_t a) {
  float x;
  memcpy(&x, &a, sizeof(x));
  return x;
}
TRELLIS_SITE_FN int32_t float_as_bits(float x) {
  int32_t a;
  memcpy(&a, &x, sizeof(a));
  return a;
}

/// Returns the larger of `largest` (not negative) and |x|. A NaN or infinity of either stays, so that the
/// scale of a site shows it. Bit patterns without their sign are ordered like the numbers, infinity and NaN
/// on top.
TRELLIS_SITE_FN float larger_magnitude(float largest, float x) {
  const int32_t a = float_as_bits(largest), b = float_as_bits(x) & INT32_MAX;
  return bits_as_float(a > b ? a : b);
}

/// A pair has this type: re lies in the lower 16 bits, and im in the upper ones.
template <class R>
struct PairOf {
  using type = int32_t;
};

TRELLIS_SITE_FN int32_t pack_pair(int32_t re, int32_t im) {
  return int32_t((uint32_t(im) << 16) | (uint32_t(re) & 0xffffu));
}
TRELLIS_SITE_FN int32_t pair_re(int32_t a) { return int16_t(uint32_t(a) & 0xffffu); }
TRELLIS_SITE_FN int32_t pair_im(int32_t a) { return a >> 16; }
/// Returns (im, re).
TRELLIS_SITE_FN int32_t swap_pair(int32_t a) { return int32_t((uint32_t(a) >> 16) | (uint32_t(a) << 16)); }
/// Returns (re, -im).
TRELLIS_SITE_FN int32_t conjugate_pair(int32_t a) { return pack_pair(pair_re(a), -pair_im(a)); }
TRELLIS_SITE_FN int32_t add_pairs(int32_t a, int32_t b) {
  return pack_pair(pair_re(a) + pair_re(b), pair_im(a) + pair_im(b));
}
TRELLIS_SITE_FN int32_t subtract_pairs(int32_t a, int32_t b) {
  return pack_pair(pair_re(a) - pair_re(b), pair_im(a) - pair_im(b));
}
/// Returns sum + re re' + im im'.
TRELLIS_SITE_FN int32_t add_products(int32_t sum, int32_t a, int32_t b) {
  return int32_t(uint32_t(sum) + uint32_t(pair_re(a) * pair_re(b)) + uint32_t(pair_im(a) * pair_im(b)));
}
TRELLIS_SITE_FN int32_t products(int32_t a, int32_t b) { return add_products(0, a, b); }

TRELLIS_SITE_FN int32_t clamp_16(int32_t a) { return a > 32767 ? 32767 : a < -32768 ? -32768 : a; }
/// Packs re and im, each at the end of the range where it is beyond it.
TRELLIS_SITE_FN int32_t pack_saturated(int32_t re, int32_t im) {
  return pack_pair(clamp_16(re), clamp_16(im));
}
TRELLIS_SITE_FN int32_t shift_right(int32_t a, int bits) { return a >> bits; }
TRELLIS_SITE_FN int32_t load_pair(const int16_t* p, int32_t*) { return pack_pair(p[0], p[1]); }
TRELLIS_SITE_FN void store_pair(int16_t* p, int32_t a) {
  p[0] = int16_t(pair_re(a));
  p[1] = int16_t(pair_im(a));
}
TRELLIS_SITE_FN float integer_to_float(int32_t n, float*) { return float(n); }
#if !defined(__CUDACC__)
template <int W, bool fits>
struct PairOf<Lanes<float, W, fits>> {
  using type = Lanes<int32_t, W>;
};

namespace detail {
template <int W>
using Shorts = typename VectorOf<uint16_t, 2 * W>::type;
template <int W>
using Words = typename VectorOf<uint32_t, W>::type;
}  // namespace detail

template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> pair_re(const Lanes<int32_t, W, true>& a) {
  using L = Lanes<int32_t, W, true>;
  return L(typename L::Vector(detail::Words<W>(a.v) << 16) >> 16);
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> pair_im(const Lanes<int32_t, W, true>& a) {
  return Lanes<int32_t, W, true>(a.v >> 16);
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> pack_pair(const Lanes<int32_t, W, true>& re,
                                                  const Lanes<int32_t, W, true>& im) {
  using L = Lanes<int32_t, W, true>;
  using Words = detail::Words<W>;
  return L(typename L::Vector((Words(im.v) << 16) | (Words(re.v) & 0xffffu)));
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> swap_pair(const Lanes<int32_t, W, true>& a) {
  using L = Lanes<int32_t, W, true>;
#if defined(__AVX512F__)
  if constexpr (W == 16) return L(typename L::Vector(_mm512_maskz_rol_epi32(0xffff, __m512i(a.v), 16)));
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) {
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    return L(typename L::Vector(_mm256_shuffle_epi8(__m256i(a.v), order)));
  }
#endif
  using Words = detail::Words<W>;
  return L(typename L::Vector((Words(a.v) >> 16) | (Words(a.v) << 16)));
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> conjugate_pair(const Lanes<int32_t, W, true>& a) {
  using L = Lanes<int32_t, W, true>;
#if defined(__AVX512BW__)
  if constexpr (W == 16)
    return L(typename L::Vector(
        _mm512_mask_sub_epi16(__m512i(a.v), 0xaaaaaaaau, _mm512_setzero_si512(), __m512i(a.v))));
#endif
#if defined(__AVX2__)
  if constexpr (W == 8)
    return L(typename L::Vector(_mm256_sign_epi16(__m256i(a.v), _mm256_set1_epi32(int(0xffff0001u)))));
#endif
  return L(typename L::Vector((detail::Words<W>(a.v) ^ 0xffff0000u) + 0x10000u));
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> add_pairs(const Lanes<int32_t, W, true>& a,
                                                  const Lanes<int32_t, W, true>& b) {
  using L = Lanes<int32_t, W, true>;
  return L(typename L::Vector(detail::Shorts<W>(a.v) + detail::Shorts<W>(b.v)));
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> subtract_pairs(const Lanes<int32_t, W, true>& a,
                                                       const Lanes<int32_t, W, true>& b) {
  using L = Lanes<int32_t, W, true>;
  return L(typename L::Vector(detail::Shorts<W>(a.v) - detail::Shorts<W>(b.v)));
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> products(const Lanes<int32_t, W, true>& a,
                                                 const Lanes<int32_t, W, true>& b) {
  using L = Lanes<int32_t, W, true>;
#if defined(__AVX512BW__)
  if constexpr (W == 16)
    return L(typename L::Vector(_mm512_maskz_madd_epi16(0xffff, __m512i(a.v), __m512i(b.v))));
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) return L(typename L::Vector(_mm256_madd_epi16(__m256i(a.v), __m256i(b.v))));
#endif
#if defined(__SSE2__)
  if constexpr (W == 4) return L(typename L::Vector(_mm_madd_epi16(__m128i(a.v), __m128i(b.v))));
#endif
  return pair_re(a) * pair_re(b) + pair_im(a) * pair_im(b);
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> add_products(const Lanes<int32_t, W, true>& sum,
                                                     const Lanes<int32_t, W, true>& a,
                                                     const Lanes<int32_t, W, true>& b) {
#if defined(__AVX512VNNI__)
  using L = Lanes<int32_t, W, true>;
  if constexpr (W == 16)
    return L(typename L::Vector(_mm512_dpwssd_epi32(__m512i(sum.v), __m512i(a.v), __m512i(b.v))));
#endif
  return sum + products(a, b);
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> shift_right(const Lanes<int32_t, W, true>& a, int bits) {
  return Lanes<int32_t, W, true>(a.v >> bits);
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> pack_saturated(const Lanes<int32_t, W, true>& re,
                                                       const Lanes<int32_t, W, true>& im) {
  using L = Lanes<int32_t, W, true>;
#if defined(__AVX512BW__)
  if constexpr (W == 16) {  // each quarter has four re, then four im
    const __m512i order = _mm512_maskz_broadcast_i32x4(
        0xffff, _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    return L(typename L::Vector(_mm512_maskz_shuffle_epi8(
        ~0ull, _mm512_maskz_packs_epi32(~0u, __m512i(re.v), __m512i(im.v)), order)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) {
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    return L(
        typename L::Vector(_mm256_shuffle_epi8(_mm256_packs_epi32(__m256i(re.v), __m256i(im.v)), order)));
  }
#endif
  using Vector = typename L::Vector;
  const Vector least = Vector{} - 32768, largest = Vector{} + 32767;
  const auto clamp = [&](const Vector& a) {
    const Vector b = a < largest ? a : largest;
    return b > least ? b : least;
  };
  return pack_pair(L(clamp(re.v)), L(clamp(im.v)));
}
template <int W>
TRELLIS_SITE_FN Lanes<float, W, true> integer_to_float(const Lanes<int32_t, W, true>& n,
                                                       Lanes<float, W, true>*) {
  return Lanes<float, W, true>(__builtin_convertvector(n.v, typename Lanes<float, W, true>::Vector));
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> nearest_integer(const Lanes<float, W, true>& x) {
  using L = Lanes<int32_t, W, true>;
#if defined(__AVX512F__)
  if constexpr (W == 16) return L(typename L::Vector(_mm512_maskz_cvtps_epi32(0xffff, x.v)));
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) return L(typename L::Vector(_mm256_cvtps_epi32(x.v)));
#endif
#if defined(__SSE2__)
  if constexpr (W == 4) return L(typename L::Vector(_mm_cvtps_epi32(x.v)));
#endif
  L n;
  for (int i = 0; i < W; ++i) n.v[i] = nearest_integer(float(x.v[i]));
  return n;
}
template <int W>
TRELLIS_SITE_FN Lanes<float, W, true> bits_as_float(const Lanes<int32_t, W, true>& a) {
  using L = Lanes<float, W, true>;
  return L(typename L::Vector(a.v));
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> float_as_bits(const Lanes<float, W, true>& x) {
  using L = Lanes<int32_t, W, true>;
  return L(typename L::Vector(x.v));
}

template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> pair_re(const Lanes<int32_t, W, false>& a) {
  return {pair_re(a.lo), pair_re(a.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> pair_im(const Lanes<int32_t, W, false>& a) {
  return {pair_im(a.lo), pair_im(a.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> pack_pair(const Lanes<int32_t, W, false>& re,
                                                   const Lanes<int32_t, W, false>& im) {
  return {pack_pair(re.lo, im.lo), pack_pair(re.hi, im.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> swap_pair(const Lanes<int32_t, W, false>& a) {
  return {swap_pair(a.lo), swap_pair(a.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> conjugate_pair(const Lanes<int32_t, W, false>& a) {
  return {conjugate_pair(a.lo), conjugate_pair(a.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> add_pairs(const Lanes<int32_t, W, false>& a,
                                                   const Lanes<int32_t, W, false>& b) {
  return {add_pairs(a.lo, b.lo), add_pairs(a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> subtract_pairs(const Lanes<int32_t, W, false>& a,
                                                        const Lanes<int32_t, W, false>& b) {
  return {subtract_pairs(a.lo, b.lo), subtract_pairs(a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> products(const Lanes<int32_t, W, false>& a,
                                                  const Lanes<int32_t, W, false>& b) {
  return {products(a.lo, b.lo), products(a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> add_products(const Lanes<int32_t, W, false>& sum,
                                                      const Lanes<int32_t, W, false>& a,
                                                      const Lanes<int32_t, W, false>& b) {
  return {add_products(sum.lo, a.lo, b.lo), add_products(sum.hi, a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> shift_right(const Lanes<int32_t, W, false>& a, int bits) {
  return {shift_right(a.lo, bits), shift_right(a.hi, bits)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> pack_saturated(const Lanes<int32_t, W, false>& re,
                                                        const Lanes<int32_t, W, false>& im) {
  return {pack_saturated(re.lo, im.lo), pack_saturated(re.hi, im.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<float, W, false> integer_to_float(const Lanes<int32_t, W, false>& n,
                                                        Lanes<float, W, false>*) {
  using Half = typename Lanes<float, W, false>::Half;
  return {integer_to_float(n.lo, static_cast<Half*>(nullptr)),
          integer_to_float(n.hi, static_cast<Half*>(nullptr))};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> nearest_integer(const Lanes<float, W, false>& x) {
  return {nearest_integer(x.lo), nearest_integer(x.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<float, W, false> bits_as_float(const Lanes<int32_t, W, false>& a) {
  return {bits_as_float(a.lo), bits_as_float(a.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> float_as_bits(const Lanes<float, W, false>& x) {
  return {float_as_bits(x.lo), float_as_bits(x.hi)};
}

/// W pairs lie in a row, 4 W byte aligned.
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, true> load_pair(const int16_t* p, Lanes<int32_t, W, true>*) {
  Lanes<int32_t, W, true> a;
  __builtin_memcpy(&a.v, __builtin_assume_aligned(p, 4 * W), sizeof(a.v));
  return a;
}
template <int W>
TRELLIS_SITE_FN Lanes<int32_t, W, false> load_pair(const int16_t* p, Lanes<int32_t, W, false>*) {
  using Part = typename Lanes<int32_t, W, false>::Half;
  return {load_pair(p, static_cast<Part*>(nullptr)), load_pair(p + W, static_cast<Part*>(nullptr))};
}
template <int W>
TRELLIS_SITE_FN void store_pair(int16_t* p, const Lanes<int32_t, W, true>& a) {
  __builtin_memcpy(__builtin_assume_aligned(p, 4 * W), &a.v, sizeof(a.v));
}
template <int W>
TRELLIS_SITE_FN void store_pair(int16_t* p, const Lanes<int32_t, W, false>& a) {
  store_pair(p, a.lo);
  store_pair(p + W, a.hi);
}

template <int W>
TRELLIS_SITE_FN Lanes<float, W, true> larger_magnitude(const Lanes<float, W, true>& largest,
                                                       const Lanes<float, W, true>& x) {
  using Integers = typename Lanes<int32_t, W, true>::Vector;
  using Floats = typename Lanes<float, W, true>::Vector;
  const Integers a = Integers(largest.v), b = Integers(x.v) & INT32_MAX;
  return Lanes<float, W, true>(Floats(a > b ? a : b));
}
template <int W>
TRELLIS_SITE_FN Lanes<float, W, false> larger_magnitude(const Lanes<float, W, false>& largest,
                                                        const Lanes<float, W, false>& x) {
  return {larger_magnitude(largest.lo, x.lo), larger_magnitude(largest.hi, x.hi)};
}
#endif  // !__CUDACC__

}  // namespace trellis
