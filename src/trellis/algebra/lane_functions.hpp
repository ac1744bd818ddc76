#pragma once
/// Beyond arithmetic, kernels need this of Lanes: a run-time permutation, the square root, the absolute
/// value, the maximum, a test against a limit, and conversion between float and double.
#include "trellis/algebra/lanes.hpp"

namespace trellis {

/// No instantiation has more lanes, so that tables of permutations have this size.
inline constexpr int max_lanes = 16;

TRELLIS_SITE_FN float square_root(float x) { return sqrtf(x); }
TRELLIS_SITE_FN double square_root(double x) { return ::sqrt(x); }
TRELLIS_SITE_FN float absolute(float x) { return x < 0 ? -x : x; }
TRELLIS_SITE_FN double absolute(double x) { return x < 0 ? -x : x; }
TRELLIS_SITE_FN float maximum(float a, float b) { return a < b ? b : a; }
TRELLIS_SITE_FN double maximum(double a, double b) { return a < b ? b : a; }

/// Returns whether a lane is above the limit; NaN is not.
TRELLIS_SITE_FN bool any_above(float x, float limit) { return x > limit; }

#if !defined(__CUDACC__)

namespace detail {
template <class T, int W, class F>
TRELLIS_SITE_FN Lanes<T, W, true> map_lanes(Lanes<T, W, true> a, F f) {
  Lanes<T, W, true> r;
  for (int i = 0; i < W; ++i) r.v[i] = f(T(a.v[i]));
  return r;
}
}  // namespace detail

/// The zero-masked forms of the intrinsics (all lanes selected) spare g++ 12 its false warnings of undefined
/// input.

/// Moves lanes: result[i] = a[source[i]]; `source` has max_lanes entries of int32, 64-byte aligned.
template <class T, int W, bool fits>
TRELLIS_SITE_FN Lanes<T, W, fits> permute(Lanes<T, W, fits> a, const int32_t* source) {
  using L = Lanes<T, W, fits>;
#if defined(__AVX512F__)
  if constexpr (sizeof(L) == 64 && std::is_same_v<T, float>)
    return L(_mm512_maskz_permutexvar_ps(0xffff, _mm512_load_si512(source), a.v));
  if constexpr (sizeof(L) == 64 && std::is_same_v<T, double>)
    return L(_mm512_maskz_permutexvar_pd(
        0xff, _mm512_maskz_cvtepi32_epi64(0xff, _mm256_load_si256(reinterpret_cast<const __m256i*>(source))),
        a.v));
  if constexpr (sizeof(L) == 64 && fits && std::is_same_v<T, int32_t>)
    return L(
        typename L::Vector(_mm512_maskz_permutexvar_epi32(0xffff, _mm512_load_si512(source), __m512i(a.v))));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(L) == 32 && fits && std::is_same_v<T, int32_t>)
    return L(typename L::Vector(_mm256_permutevar8x32_epi32(
        __m256i(a.v), _mm256_load_si256(reinterpret_cast<const __m256i*>(source)))));
  if constexpr (sizeof(L) == 32 && fits && std::is_same_v<T, float>)
    return L(_mm256_permutevar8x32_ps(a.v, _mm256_load_si256(reinterpret_cast<const __m256i*>(source))));
  if constexpr (sizeof(L) == 32 && std::is_same_v<T, double>) {  // lane i has the words 2 i and 2 i + 1
    const __m256i even =
        _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(source))), 1);
    const __m256i words = _mm256_add_epi32(_mm256_or_si256(even, _mm256_slli_epi64(even, 32)),
                                           _mm256_set1_epi64x(int64_t(1) << 32));
    return L(_mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(a.v), words)));
  }
#endif
  alignas(64) T from[W], to[W];
  a.store(from);
  for (int i = 0; i < W; ++i) to[i] = from[source[i]];
  return L::load(to);
}

template <int W>
TRELLIS_SITE_FN bool any_above(Lanes<float, W, true> a, float limit) {
#if defined(__AVX512F__)
  if constexpr (sizeof(a) == 64) return _mm512_cmp_ps_mask(a.v, _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
#endif
#if defined(__AVX__)
  if constexpr (sizeof(a) == 32)
    return _mm256_movemask_ps(_mm256_cmp_ps(a.v, _mm256_set1_ps(limit), _CMP_GT_OQ)) != 0;
#endif
  bool found = false;
  for (int i = 0; i < W; ++i) found = found || a.v[i] > limit;
  return found;
}
template <int W>
TRELLIS_SITE_FN bool any_above(Lanes<float, W, false> a, float limit) {
  return any_above(a.lo, limit) || any_above(a.hi, limit);
}

template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, true> square_root(Lanes<T, W, true> a) {
#if defined(__AVX512F__)
  if constexpr (sizeof(a) == 64 && std::is_same_v<T, float>)
    return Lanes<T, W, true>(_mm512_maskz_sqrt_ps(0xffff, a.v));
  if constexpr (sizeof(a) == 64 && std::is_same_v<T, double>)
    return Lanes<T, W, true>(_mm512_maskz_sqrt_pd(0xff, a.v));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(a) == 32 && std::is_same_v<T, float>) return Lanes<T, W, true>(_mm256_sqrt_ps(a.v));
  if constexpr (sizeof(a) == 32 && std::is_same_v<T, double>) return Lanes<T, W, true>(_mm256_sqrt_pd(a.v));
#endif
  return detail::map_lanes(a, [](T x) { return square_root(x); });
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, true> absolute(Lanes<T, W, true> a) {
  return Lanes<T, W, true>(a.v < typename Lanes<T, W, true>::Vector{} ? -a.v : a.v);
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, true> maximum(Lanes<T, W, true> a, Lanes<T, W, true> b) {
  return Lanes<T, W, true>(a.v < b.v ? b.v : a.v);
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, false> square_root(Lanes<T, W, false> a) {
  return {square_root(a.lo), square_root(a.hi)};
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, false> absolute(Lanes<T, W, false> a) {
  return {absolute(a.lo), absolute(a.hi)};
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, false> maximum(Lanes<T, W, false> a, Lanes<T, W, false> b) {
  return {maximum(a.lo, b.lo), maximum(a.hi, b.hi)};
}

namespace detail {
/// Returns half of the lanes, from `first` on; joined() makes one vector of two halves. Both work in
/// registers, since a load waits for the two smaller stores that wrote its halves.
template <int first, class T, int W, int... I>
TRELLIS_SITE_FN Lanes<T, W / 2> half_of(const Lanes<T, W, true>& a, std::integer_sequence<int, I...>) {
  return Lanes<T, W / 2>(typename Lanes<T, W / 2>::Vector(__builtin_shufflevector(a.v, a.v, (first + I)...)));
}
template <class T, int W, int... I>
TRELLIS_SITE_FN Lanes<T, 2 * W> joined(const Lanes<T, W, true>& lo, const Lanes<T, W, true>& hi,
                                       std::integer_sequence<int, I...>) {
  return Lanes<T, 2 * W>(typename Lanes<T, 2 * W>::Vector(__builtin_shufflevector(lo.v, hi.v, I...)));
}

/// Converts lanes; source and result fit into one register each.
template <class To, class T, int W>
TRELLIS_SITE_FN Lanes<To, W> convert_register(const Lanes<T, W, true>& a) {
#if defined(__AVX512F__)
  if constexpr (W == 8 && std::is_same_v<To, double> && std::is_same_v<T, float>)
    return Lanes<To, W>(_mm512_maskz_cvtps_pd(0xff, a.v));
#endif
#if defined(__AVX__)
  if constexpr (W == 4 && std::is_same_v<To, double> && std::is_same_v<T, float>)
    return Lanes<To, W>(_mm256_cvtps_pd(a.v));
#endif
  return Lanes<To, W>(__builtin_convertvector(a.v, typename Lanes<To, W>::Vector));
}
}  // namespace detail

/// Converts all lanes, To in {float, double}.
template <class To, class T, int W, bool fits>
TRELLIS_SITE_FN Lanes<To, W> convert_lanes(const Lanes<T, W, fits>& a) {
  constexpr bool result_fits = W * int(sizeof(To)) <= native_vector_bytes;
  if constexpr (std::is_same_v<To, T>) {
    return a;
  } else if constexpr (result_fits && fits) {
    return detail::convert_register<To>(a);
  } else if constexpr (!fits && !result_fits) {
    return {convert_lanes<To>(a.lo), convert_lanes<To>(a.hi)};
  } else if constexpr (fits) {  // float to double: the halves of the source become the halves of the result
    constexpr auto half = std::make_integer_sequence<int, W / 2>{};
    return {convert_lanes<To>(detail::half_of<0>(a, half)),
            convert_lanes<To>(detail::half_of<W / 2>(a, half))};
  } else {  // this goes from double to float
    return detail::joined(convert_lanes<To>(a.lo), convert_lanes<To>(a.hi),
                          std::make_integer_sequence<int, W>{});
  }
}
#endif  // !__CUDACC__

template <class To, class R>
TRELLIS_SITE_FN LaneReal<To, RealTraits<R>::width> convert_real(const R& a) {
  if constexpr (RealTraits<R>::width == 1)
    return To(a);
  else
    return convert_lanes<To>(a);
}

}  // namespace trellis
