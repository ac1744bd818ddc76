#pragma once
/// IEEE 754 binary16 ("fp16") serves as storage: it has 11 significant bits, from 6e-5 to 65504 at full
/// accuracy and down to 6e-8 with fewer bits. Numbers are converted in registers and rounded to nearest, ties
/// to even; larger numbers become infinite.
#include <cstdint>
#include <cstring>

#include "trellis/algebra/lane_functions.hpp"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace trellis {

namespace detail {
inline constexpr uint32_t float_bias = 127, float16_bias = 15;

TRELLIS_SITE_FN float widened(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 1023;
  uint32_t bits = (exponent + float_bias - float16_bias) << 23 | fraction << 13;
  if (exponent == 31) bits = uint32_t(255) << 23 | fraction << 13;
  float magnitude = float(fraction) * 0x1p-24f;  // it lies below the normal numbers
  if (exponent != 0) std::memcpy(&magnitude, &bits, sizeof(bits));
  return sign ? -magnitude : magnitude;
}

TRELLIS_SITE_FN uint16_t narrowed(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  const float magnitude = x < 0 ? -x : x;
  if (x != x) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // would round to 2^16
  if (magnitude < 0x1p-14f) return sign | uint16_t(__builtin_rintf(magnitude * 0x1p24f));
  bits &= INT32_MAX;
  bits += 0xfff + (bits >> 13 & 1);  // half a unit, less where a tie goes to the even number below
  return sign | uint16_t((bits - ((float_bias - float16_bias) << 23)) >> 13);
}
}  // namespace detail

/// This is a stored number.
struct Float16 {
  uint16_t bits;

  Float16() = default;
  TRELLIS_SITE_FN explicit Float16(float x) {
#if defined(__CUDA_ARCH__)
    bits = __half_as_ushort(__float2half_rn(x));
#elif defined(__F16C__) && !defined(__CUDACC__)
    bits = _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
    bits = detail::narrowed(x);
#endif
  }
  TRELLIS_SITE_FN explicit operator float() const {
#if defined(__CUDA_ARCH__)
    return __half2float(__ushort_as_half(bits));
#elif defined(__F16C__) && !defined(__CUDACC__)
    return _cvtsh_ss(bits);
#else
    return detail::widened(bits);
#endif
  }
};

namespace detail {
TRELLIS_SITE_FN void load_lanes(const Float16* p, float& x) { x = float(*p); }
TRELLIS_SITE_FN void store_lanes(Float16* p, float x) { *p = Float16(x); }

#if !defined(__CUDACC__)
template <int W>
TRELLIS_SITE_FN void load_lanes(const Float16* p, Lanes<float, W, true>& x) {
  using L [[maybe_unused]] = Lanes<float, W, true>;
#if defined(__AVX512F__)
  if constexpr (W == 16) {
    x = L(_mm512_maskz_cvtph_ps(0xffff, _mm256_load_si256(reinterpret_cast<const __m256i*>(p))));
    return;
  }
#endif
#if defined(__F16C__)
  if constexpr (W == 8) {
    x = L(_mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(p))));
    return;
  }
  if constexpr (W == 4) {
    x = L(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    return;
  }
#endif
  for (int i = 0; i < W; ++i) x.v[i] = float(p[i]);
}
template <int W>
TRELLIS_SITE_FN void load_lanes(const Float16* p, Lanes<float, W, false>& x) {
  load_lanes(p, x.lo);
  load_lanes(p + W / 2, x.hi);
}

template <int W>
TRELLIS_SITE_FN void store_lanes(Float16* p, const Lanes<float, W, true>& x) {
#if defined(__AVX512F__)
  if constexpr (W == 16) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(p),
                       _mm512_maskz_cvtps_ph(0xffff, x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    return;
  }
#endif
#if defined(__F16C__)
  if constexpr (W == 8) {
    _mm_store_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
    return;
  }
  if constexpr (W == 4) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
    return;
  }
#endif
  for (int i = 0; i < W; ++i) p[i] = Float16(x.v[i]);
}
template <int W>
TRELLIS_SITE_FN void store_lanes(Float16* p, const Lanes<float, W, false>& x) {
  store_lanes(p, x.lo);
  store_lanes(p + W / 2, x.hi);
}
#endif
}  // namespace detail

template <class R>
TRELLIS_SITE_FN R load_real(const Float16* p) {
  R x;
  detail::load_lanes(p, x);
  return x;
}
template <class R>
TRELLIS_SITE_FN void store_real(Float16* p, const R& x) {
  detail::store_lanes(p, x);
}

}  // namespace trellis
