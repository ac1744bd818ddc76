#pragma once
/// 16-bit fixed point: a component is q s / 32767 with q in [-32767, 32767] and s the largest |component| of
/// its site. Conversions of a lane vector are intrinsics where the compiler's own are poor.
#include <cstdint>
#include <cstring>

#include "trellis/algebra/lane_functions.hpp"

namespace trellis {

inline constexpr float fixed_point_unit = 1.0f / 32767.0f;

TRELLIS_SITE_FN float load_fixed(const int16_t* p, float*) { return float(*p); }
TRELLIS_SITE_FN void store_fixed(int16_t* p, float x) {
#if defined(__CUDA_ARCH__)
  *p = int16_t(__float2int_rn(x));
#else
  *p = x == x ? int16_t(__builtin_rintf(x)) : INT16_MIN;  // as conversions of lanes have it
#endif
}

/// The larger of `largest` (not negative) and |x|; a NaN or infinity of either stays, so that the scale of a
/// site shows it. Bit patterns without their sign are ordered like the numbers, infinity and NaN on top.
TRELLIS_SITE_FN float larger_magnitude(float largest, float x) {
#if defined(__CUDA_ARCH__)
  return __int_as_float(max(__float_as_int(largest), __float_as_int(x) & INT32_MAX));
#else
  int32_t a, b;
  std::memcpy(&a, &largest, sizeof(a));
  std::memcpy(&b, &x, sizeof(b));
  b &= INT32_MAX;
  a = a > b ? a : b;
  std::memcpy(&largest, &a, sizeof(a));
  return largest;
#endif
}

/// The integers behind a stored component, to be added before they are converted: 32 bits hold any sum of a
/// few.
template <class R>
struct IntegerOf {
  using type = int32_t;
};
TRELLIS_SITE_FN int32_t load_integer(const int16_t* p, int32_t*) { return *p; }
TRELLIS_SITE_FN float integer_to_float(int32_t n, float*) { return float(n); }

#if !defined(__CUDACC__)
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

template <int W, bool fits>
struct IntegerOf<Lanes<float, W, fits>> {
  using type = Lanes<int32_t, W>;
};
template <int W, bool fits>
TRELLIS_SITE_FN Lanes<int32_t, W, fits> load_integer(const int16_t* p, Lanes<int32_t, W, fits>*) {
  using L = Lanes<int32_t, W, fits>;
#if defined(__AVX512F__)
  if constexpr (W == 16)
    return L(typename L::Vector(
        _mm512_maskz_cvtepi16_epi32(0xffff, _mm256_load_si256(reinterpret_cast<const __m256i*>(p)))));
#endif
#if defined(__AVX2__)
  if constexpr (W == 8)
    return L(typename L::Vector(_mm256_cvtepi16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(p)))));
  if constexpr (W == 4)
    return L(typename L::Vector(_mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))));
#endif
  alignas(64) int32_t n[W];
  for (int i = 0; i < W; ++i) n[i] = p[i];
  return L::load(n);
}
template <int W>
TRELLIS_SITE_FN Lanes<float, W, true> integer_to_float(const Lanes<int32_t, W, true>& n,
                                                       Lanes<float, W, true>*) {
  return Lanes<float, W, true>(__builtin_convertvector(n.v, typename Lanes<float, W, true>::Vector));
}
template <int W>
TRELLIS_SITE_FN Lanes<float, W, false> integer_to_float(const Lanes<int32_t, W, false>& n,
                                                        Lanes<float, W, false>*) {
  using Half = typename Lanes<float, W, false>::Half;
  return {integer_to_float(n.lo, static_cast<Half*>(nullptr)),
          integer_to_float(n.hi, static_cast<Half*>(nullptr))};
}

/// W integers as floats (unscaled).
template <int W, bool fits>
TRELLIS_SITE_FN Lanes<float, W, fits> load_fixed(const int16_t* p, Lanes<float, W, fits>*) {
  using L = Lanes<float, W, fits>;
#if defined(__AVX512F__)
  if constexpr (W == 16)
    return L(_mm512_maskz_cvtepi32_ps(
        0xffff, _mm512_maskz_cvtepi16_epi32(0xffff, _mm256_load_si256(reinterpret_cast<const __m256i*>(p)))));
#endif
#if defined(__AVX2__)
  if constexpr (W == 8)
    return L(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(p)))));
  if constexpr (W == 4)
    return L(_mm_cvtepi32_ps(_mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))));
#endif
  alignas(64) float x[W];
  for (int i = 0; i < W; ++i) x[i] = float(p[i]);
  return L::load(x);
}
/// Rounds to nearest, ties to even; NaN becomes -32768. @pre |x| <= 32767 in every lane, or NaN.
template <int W, bool fits>
TRELLIS_SITE_FN void store_fixed(int16_t* p, const Lanes<float, W, fits>& x) {
#if defined(__AVX512F__)
  if constexpr (W == 16) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(p),
                       _mm512_maskz_cvtsepi32_epi16(0xffff, _mm512_maskz_cvtps_epi32(0xffff, x.v)));
    return;
  }
#endif
#if defined(__AVX512VL__)
  if constexpr (W == 8) {
    _mm_store_si128(reinterpret_cast<__m128i*>(p),
                    _mm256_maskz_cvtsepi32_epi16(0xff, _mm256_maskz_cvtps_epi32(0xff, x.v)));
    return;
  }
#endif
#if defined(__AVX2__)
  if constexpr (W == 4) {
    const __m128i n = _mm_cvtps_epi32(x.v);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi32(n, n));
    return;
  }
#endif
  alignas(64) float y[W];
  x.store(y);
  for (int i = 0; i < W; ++i) store_fixed(p + i, y[i]);
}
#endif

}  // namespace trellis
