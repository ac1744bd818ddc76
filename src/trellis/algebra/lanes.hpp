#pragma once
/// Lanes<T, W> holds W numbers of type T that are computed together. It is a thin layer over the compilers'
/// vector extension with an interface that is a subset of std::simd. Vectors wider than the machine's
/// registers are pairs of halves. fma is explicit: the build forbids the compiler to contract a*b+c on its
/// own, so that every W gives the same bits.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "trellis/base/annotations.hpp"

#if !defined(__CUDACC__) && (defined(__x86_64__) || defined(__i386__))
#include <immintrin.h>
#endif

namespace trellis {

#if defined(__AVX512F__)
inline constexpr int native_vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int native_vector_bytes = 32;
#else
inline constexpr int native_vector_bytes = 16;
#endif

TRELLIS_SITE_FN float fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return ::fmaf(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
TRELLIS_SITE_FN double fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return ::fma(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}
/// Returns c - a b, rounded once.
TRELLIS_SITE_FN float fnma(float a, float b, float c) { return fma(-a, b, c); }
TRELLIS_SITE_FN double fnma(double a, double b, double c) { return fma(-a, b, c); }

#if !defined(__CUDACC__)

template <class T, int W, bool fits = (W * int(sizeof(T)) <= native_vector_bytes)>
struct Lanes;

namespace detail {
template <class T, int W>
struct VectorOf {
  typedef T type __attribute__((vector_size(W * sizeof(T))));
};
}  // namespace detail

/// This vector fits a register.
template <class T, int W>
struct Lanes<T, W, true> {
  using Vector = typename detail::VectorOf<T, W>::type;
  using value_type = T;
  static constexpr int width = W;

  Vector v;

  Lanes() = default;
  TRELLIS_SITE_FN Lanes(T x) : v(x - Vector{}) {}  // broadcast (x - 0 keeps -0)
  TRELLIS_SITE_FN explicit Lanes(Vector x) : v(x) {}

  TRELLIS_SITE_FN static Lanes load(const T* p) {
    return Lanes(*reinterpret_cast<const Vector*>(__builtin_assume_aligned(p, W * sizeof(T))));
  }
  TRELLIS_SITE_FN void store(T* p) const {
    *reinterpret_cast<Vector*>(__builtin_assume_aligned(p, W * sizeof(T))) = v;
  }
  TRELLIS_SITE_FN T operator[](int lane) const { return v[lane]; }
  TRELLIS_SITE_FN void set(int lane, T x) { v[lane] = x; }

  friend TRELLIS_SITE_FN Lanes operator+(Lanes a, Lanes b) { return Lanes(a.v + b.v); }
  friend TRELLIS_SITE_FN Lanes operator-(Lanes a, Lanes b) { return Lanes(a.v - b.v); }
  friend TRELLIS_SITE_FN Lanes operator*(Lanes a, Lanes b) { return Lanes(a.v * b.v); }
  friend TRELLIS_SITE_FN Lanes operator/(Lanes a, Lanes b) { return Lanes(a.v / b.v); }
  friend TRELLIS_SITE_FN Lanes operator-(Lanes a) { return Lanes(-a.v); }
};

/// A vector wider than a register consists of two halves.
template <class T, int W>
struct Lanes<T, W, false> {
  using Half = Lanes<T, W / 2>;
  using value_type = T;
  static constexpr int width = W;

  Half lo, hi;

  Lanes() = default;
  TRELLIS_SITE_FN Lanes(T x) : lo(x), hi(x) {}
  TRELLIS_SITE_FN Lanes(Half l, Half h) : lo(l), hi(h) {}

  TRELLIS_SITE_FN static Lanes load(const T* p) { return Lanes(Half::load(p), Half::load(p + W / 2)); }
  TRELLIS_SITE_FN void store(T* p) const {
    lo.store(p);
    hi.store(p + W / 2);
  }
  TRELLIS_SITE_FN T operator[](int lane) const { return lane < W / 2 ? lo[lane] : hi[lane - W / 2]; }
  TRELLIS_SITE_FN void set(int lane, T x) {
    if (lane < W / 2)
      lo.set(lane, x);
    else
      hi.set(lane - W / 2, x);
  }

  friend TRELLIS_SITE_FN Lanes operator+(Lanes a, Lanes b) { return {a.lo + b.lo, a.hi + b.hi}; }
  friend TRELLIS_SITE_FN Lanes operator-(Lanes a, Lanes b) { return {a.lo - b.lo, a.hi - b.hi}; }
  friend TRELLIS_SITE_FN Lanes operator*(Lanes a, Lanes b) { return {a.lo * b.lo, a.hi * b.hi}; }
  friend TRELLIS_SITE_FN Lanes operator/(Lanes a, Lanes b) { return {a.lo / b.lo, a.hi / b.hi}; }
  friend TRELLIS_SITE_FN Lanes operator-(Lanes a) { return {-a.lo, -a.hi}; }
};

/// Returns a b + c, rounded once.
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, true> fma(Lanes<T, W, true> a, Lanes<T, W, true> b, Lanes<T, W, true> c) {
  using L = Lanes<T, W, true>;
#if defined(__AVX512F__)
  if constexpr (sizeof(L) == 64 && std::is_same_v<T, float>) return L(_mm512_fmadd_ps(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 64 && std::is_same_v<T, double>) return L(_mm512_fmadd_pd(a.v, b.v, c.v));
#endif
#if defined(__FMA__)
  if constexpr (sizeof(L) == 32 && std::is_same_v<T, float>) return L(_mm256_fmadd_ps(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 32 && std::is_same_v<T, double>) return L(_mm256_fmadd_pd(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 16 && std::is_same_v<T, float>) return L(_mm_fmadd_ps(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 16 && std::is_same_v<T, double>) return L(_mm_fmadd_pd(a.v, b.v, c.v));
#endif
  L r;
  for (int i = 0; i < W; ++i) r.v[i] = fma(T(a.v[i]), T(b.v[i]), T(c.v[i]));
  return r;
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, false> fma(Lanes<T, W, false> a, Lanes<T, W, false> b, Lanes<T, W, false> c) {
  return {fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi)};
}
/// Returns c - a b, rounded once. It is spelled out: the compiler would negate a in an instruction of its
/// own.
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, true> fnma(Lanes<T, W, true> a, Lanes<T, W, true> b, Lanes<T, W, true> c) {
  using L [[maybe_unused]] = Lanes<T, W, true>;
#if defined(__AVX512F__)
  if constexpr (sizeof(L) == 64 && std::is_same_v<T, float>) return L(_mm512_fnmadd_ps(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 64 && std::is_same_v<T, double>) return L(_mm512_fnmadd_pd(a.v, b.v, c.v));
#endif
#if defined(__FMA__)
  if constexpr (sizeof(L) == 32 && std::is_same_v<T, float>) return L(_mm256_fnmadd_ps(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 32 && std::is_same_v<T, double>) return L(_mm256_fnmadd_pd(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 16 && std::is_same_v<T, float>) return L(_mm_fnmadd_ps(a.v, b.v, c.v));
  if constexpr (sizeof(L) == 16 && std::is_same_v<T, double>) return L(_mm_fnmadd_pd(a.v, b.v, c.v));
#endif
  return fma(-a, b, c);
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, false> fnma(Lanes<T, W, false> a, Lanes<T, W, false> b, Lanes<T, W, false> c) {
  return {fnma(a.lo, b.lo, c.lo), fnma(a.hi, b.hi, c.hi)};
}

#endif  // !__CUDACC__

/// This is the arithmetic type of a kernel at W lanes: T itself for W = 1, else Lanes<T, W>.
template <class T, int W>
struct LaneRealOf {
#if defined(__CUDACC__)
  static_assert(W == 1, "device code computes one site per thread");
  using type = T;
#else
  using type = Lanes<T, W>;
#endif
};
template <class T>
struct LaneRealOf<T, 1> {
  using type = T;
};
template <class T, int W>
using LaneReal = typename LaneRealOf<T, W>::type;

/// A kernel's arithmetic type has this scalar type and lane count.
template <class R>
struct RealTraits {
  using scalar = typename R::value_type;
  static constexpr int width = R::width;
};
template <>
struct RealTraits<float> {
  using scalar = float;
  static constexpr int width = 1;
};
template <>
struct RealTraits<double> {
  using scalar = double;
  static constexpr int width = 1;
};

template <class R>
TRELLIS_SITE_FN R load_real(const typename RealTraits<R>::scalar* p) {
  if constexpr (RealTraits<R>::width == 1)
    return *p;
  else
    return R::load(p);
}
template <class R>
TRELLIS_SITE_FN void store_real(typename RealTraits<R>::scalar* p, const R& x) {
  if constexpr (RealTraits<R>::width == 1)
    *p = x;
  else
    x.store(p);
}
template <class R>
TRELLIS_SITE_FN typename RealTraits<R>::scalar lane(const R& x, int i) {
  if constexpr (RealTraits<R>::width == 1)
    return x;
  else
    return x[i];
}
template <class R>
TRELLIS_SITE_FN void set_lane(R& x, int i, typename RealTraits<R>::scalar value) {
  if constexpr (RealTraits<R>::width == 1)
    x = value;
  else
    x.set(i, value);
}

}  // namespace trellis
