#pragma once
/// Unsigned 64-bit integers and masks go with Lanes<double, W>: random numbers and the elementary functions
/// need them. W = 1 is uint64_t and bool.
#include "trellis/algebra/lanes.hpp"

namespace trellis {

TRELLIS_SITE_FN uint64_t shift_left(uint64_t a, int bits) { return a << bits; }
TRELLIS_SITE_FN uint64_t shift_right(uint64_t a, int bits) { return a >> bits; }
/// Returns the full product of the lower 32 bits.
TRELLIS_SITE_FN uint64_t multiply_32(uint64_t a, uint64_t b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }
TRELLIS_SITE_FN uint64_t bits_of(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}
TRELLIS_SITE_FN double real_from_bits(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

TRELLIS_SITE_FN bool less(double a, double b) { return a < b; }
TRELLIS_SITE_FN bool less_equal(double a, double b) { return a <= b; }
TRELLIS_SITE_FN double select(bool mask, double a, double b) { return mask ? a : b; }
TRELLIS_SITE_FN bool mask_and(bool a, bool b) { return a && b; }
TRELLIS_SITE_FN bool mask_or(bool a, bool b) { return a || b; }
TRELLIS_SITE_FN bool mask_not(bool a) { return !a; }
TRELLIS_SITE_FN bool any(bool mask) { return mask; }

#if !defined(__CUDACC__)

template <int W, bool fits = (W * 8 <= native_vector_bytes)>
struct LaneIntegers;
template <int W, bool fits = (W * 8 <= native_vector_bytes)>
struct LaneMask;

template <int W>
struct LaneMask<W, true> {
  using Vector = typename detail::VectorOf<int64_t, W>::type;
  Vector v;  ///< each lane has 0 or -1
};
template <int W>
struct LaneMask<W, false> {
  LaneMask<W / 2> lo, hi;
};

template <int W>
struct LaneIntegers<W, true> {
  using Vector = typename detail::VectorOf<uint64_t, W>::type;
  Vector v;

  LaneIntegers() = default;
  TRELLIS_SITE_FN LaneIntegers(uint64_t x) : v(x - Vector{}) {}
  TRELLIS_SITE_FN explicit LaneIntegers(Vector x) : v(x) {}
  TRELLIS_SITE_FN static LaneIntegers load(const int64_t* p) {  // p has any alignment
    LaneIntegers r;
    __builtin_memcpy(&r.v, p, sizeof(r.v));
    return r;
  }
  friend TRELLIS_SITE_FN LaneIntegers operator+(LaneIntegers a, LaneIntegers b) {
    return LaneIntegers(a.v + b.v);
  }
  friend TRELLIS_SITE_FN LaneIntegers operator-(LaneIntegers a, LaneIntegers b) {
    return LaneIntegers(a.v - b.v);
  }
  friend TRELLIS_SITE_FN LaneIntegers operator^(LaneIntegers a, LaneIntegers b) {
    return LaneIntegers(a.v ^ b.v);
  }
  friend TRELLIS_SITE_FN LaneIntegers operator&(LaneIntegers a, LaneIntegers b) {
    return LaneIntegers(a.v & b.v);
  }
  friend TRELLIS_SITE_FN LaneIntegers operator|(LaneIntegers a, LaneIntegers b) {
    return LaneIntegers(a.v | b.v);
  }
  friend TRELLIS_SITE_FN LaneIntegers shift_left(LaneIntegers a, int bits) {
    return LaneIntegers(a.v << bits);
  }
  friend TRELLIS_SITE_FN LaneIntegers shift_right(LaneIntegers a, int bits) {
    return LaneIntegers(a.v >> bits);
  }
  friend TRELLIS_SITE_FN LaneIntegers multiply_32(LaneIntegers a, LaneIntegers b) {
#if defined(__AVX512F__)
    if constexpr (W == 8)
      return LaneIntegers(Vector(_mm512_maskz_mul_epu32(0xff, __m512i(a.v), __m512i(b.v))));
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) return LaneIntegers(Vector(_mm256_mul_epu32(__m256i(a.v), __m256i(b.v))));
#endif
    return LaneIntegers((a.v & uint64_t(0xffffffffu)) * (b.v & uint64_t(0xffffffffu)));
  }
};

template <int W>
struct LaneIntegers<W, false> {
  using Half = LaneIntegers<W / 2>;
  Half lo, hi;

  LaneIntegers() = default;
  TRELLIS_SITE_FN LaneIntegers(uint64_t x) : lo(x), hi(x) {}
  TRELLIS_SITE_FN LaneIntegers(Half l, Half h) : lo(l), hi(h) {}
  TRELLIS_SITE_FN static LaneIntegers load(const int64_t* p) {
    return {Half::load(p), Half::load(p + W / 2)};
  }
  friend TRELLIS_SITE_FN LaneIntegers operator+(LaneIntegers a, LaneIntegers b) {
    return {a.lo + b.lo, a.hi + b.hi};
  }
  friend TRELLIS_SITE_FN LaneIntegers operator-(LaneIntegers a, LaneIntegers b) {
    return {a.lo - b.lo, a.hi - b.hi};
  }
  friend TRELLIS_SITE_FN LaneIntegers operator^(LaneIntegers a, LaneIntegers b) {
    return {a.lo ^ b.lo, a.hi ^ b.hi};
  }
  friend TRELLIS_SITE_FN LaneIntegers operator&(LaneIntegers a, LaneIntegers b) {
    return {a.lo & b.lo, a.hi & b.hi};
  }
  friend TRELLIS_SITE_FN LaneIntegers operator|(LaneIntegers a, LaneIntegers b) {
    return {a.lo | b.lo, a.hi | b.hi};
  }
  friend TRELLIS_SITE_FN LaneIntegers shift_left(LaneIntegers a, int bits) {
    return {shift_left(a.lo, bits), shift_left(a.hi, bits)};
  }
  friend TRELLIS_SITE_FN LaneIntegers shift_right(LaneIntegers a, int bits) {
    return {shift_right(a.lo, bits), shift_right(a.hi, bits)};
  }
  friend TRELLIS_SITE_FN LaneIntegers multiply_32(LaneIntegers a, LaneIntegers b) {
    return {multiply_32(a.lo, b.lo), multiply_32(a.hi, b.hi)};
  }
};

template <int W>
TRELLIS_SITE_FN LaneIntegers<W, true> bits_of(Lanes<double, W, true> x) {
  return LaneIntegers<W, true>(typename LaneIntegers<W, true>::Vector(x.v));
}
template <int W>
TRELLIS_SITE_FN LaneIntegers<W, false> bits_of(Lanes<double, W, false> x) {
  return {bits_of(x.lo), bits_of(x.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<double, W, true> real_from_bits(LaneIntegers<W, true> bits) {
  return Lanes<double, W, true>(typename Lanes<double, W, true>::Vector(bits.v));
}
template <int W>
TRELLIS_SITE_FN Lanes<double, W, false> real_from_bits(LaneIntegers<W, false> bits) {
  return {real_from_bits(bits.lo), real_from_bits(bits.hi)};
}

template <int W>
TRELLIS_SITE_FN LaneMask<W, true> less(Lanes<double, W, true> a, Lanes<double, W, true> b) {
  return {typename LaneMask<W, true>::Vector(a.v < b.v)};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, false> less(Lanes<double, W, false> a, Lanes<double, W, false> b) {
  return {less(a.lo, b.lo), less(a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, true> less_equal(Lanes<double, W, true> a, Lanes<double, W, true> b) {
  return {typename LaneMask<W, true>::Vector(a.v <= b.v)};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, false> less_equal(Lanes<double, W, false> a, Lanes<double, W, false> b) {
  return {less_equal(a.lo, b.lo), less_equal(a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN Lanes<double, W, true> select(LaneMask<W, true> mask, Lanes<double, W, true> a,
                                              Lanes<double, W, true> b) {
  return Lanes<double, W, true>(mask.v ? a.v : b.v);
}
template <int W>
TRELLIS_SITE_FN Lanes<double, W, false> select(LaneMask<W, false> mask, Lanes<double, W, false> a,
                                               Lanes<double, W, false> b) {
  return {select(mask.lo, a.lo, b.lo), select(mask.hi, a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, true> mask_and(LaneMask<W, true> a, LaneMask<W, true> b) {
  return {a.v & b.v};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, false> mask_and(LaneMask<W, false> a, LaneMask<W, false> b) {
  return {mask_and(a.lo, b.lo), mask_and(a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, true> mask_or(LaneMask<W, true> a, LaneMask<W, true> b) {
  return {a.v | b.v};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, false> mask_or(LaneMask<W, false> a, LaneMask<W, false> b) {
  return {mask_or(a.lo, b.lo), mask_or(a.hi, b.hi)};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, true> mask_not(LaneMask<W, true> a) {
  return {~a.v};
}
template <int W>
TRELLIS_SITE_FN LaneMask<W, false> mask_not(LaneMask<W, false> a) {
  return {mask_not(a.lo), mask_not(a.hi)};
}
/// Returns true if the mask is set in any lane.
template <int W>
TRELLIS_SITE_FN bool any(LaneMask<W, true> mask) {
  int64_t set = 0;
  for (int i = 0; i < W; ++i) set |= mask.v[i];
  return set != 0;
}
template <int W>
TRELLIS_SITE_FN bool any(LaneMask<W, false> mask) {
  return any(mask.lo) || any(mask.hi);
}

#endif  // !__CUDACC__

/// These integer and mask types go with a kernel's arithmetic type.
template <class R>
struct LaneTypesOf {
#if !defined(__CUDACC__)
  using Integer = LaneIntegers<R::width>;
  using Mask = LaneMask<R::width>;
#endif
};
template <>
struct LaneTypesOf<double> {
  using Integer = uint64_t;
  using Mask = bool;
};
template <class R>
using LaneInteger = typename LaneTypesOf<R>::Integer;
template <class R>
using MaskOf = typename LaneTypesOf<R>::Mask;

/// Reads the integers of a block's lanes from memory.
template <class R>
TRELLIS_SITE_FN LaneInteger<R> load_integers(const int64_t* p) {
  if constexpr (RealTraits<R>::width == 1)
    return uint64_t(*p);
  else
    return LaneInteger<R>::load(p);
}

}  // namespace trellis
