#pragma once
/// Linear algebra of fermion fields is fused, and each right-hand side (slot) has its own coefficients. A
/// site has N reals: 24 (spinors) or 6 (staggered). Terms of sums are formed in double, one per site in a
/// fixed order.
#include "trellis/base/exact_sum.hpp"
#include "trellis/view/raw_stencil.hpp"

namespace trellis {

/// The call is out = a x + b y, coefficients [slot][re, im]; optionally sums[slot] += |out|^2. The traffic is
/// 3 fields (2 when b is zero everywhere, as y is then not read).
struct CombineCall {
  RawField out, x, y;
  const double *a = nullptr, *b = nullptr;
  bool is_complex = false, has_y = true;
  ExactSum* norms = nullptr;
  int reals = 24, slots = 1;
};

/// The call is sums[slot] += conj(x) . y, real and imaginary parts, or |x|^2 alone when y is null. The
/// traffic is 2 fields (1).
struct DotCall {
  RawField x, y;
  ExactSum *re = nullptr, *im = nullptr;
  int reals = 24, slots = 1;
};

/// The call is x += alpha p, then p = r + beta p, in one pass. The traffic is 5 fields.
struct UpdateCall {
  RawField x, r, p;
  const double *alpha = nullptr, *beta = nullptr;  ///< they are real, [slot]
  int reals = 24, slots = 1;
};

template <class Layout, class Storage, int N>
struct LinearAlgebra {
  using Array = SiteArray<Layout, Storage, N>;
  using Real = typename Array::Real;
  using Scalar = typename StorageTraits<Storage>::compute;
  using Term = LaneReal<double, Layout::lanes>;

  /// Returns |x|^2 at a site, of the numbers that are stored there. It adds in order and in double, but
  /// 16-bit numbers in groups whose squares are added in float: their conversion to double takes twice as
  /// long as to read them.
  TRELLIS_SITE_FN static Term norm_term(const Array& x, int block, int slot) {
    Real r[N];
    if constexpr (Array::rounds) {
      x.load_stored(block, slot, r);
      Term sum(0.0);
      unroll<N / group>([&](auto g) TRELLIS_INLINE_LAMBDA {
        constexpr int first = group * g;
        Real part = r[first] * r[first];
        unroll<group - 1>(
            [&](auto i) TRELLIS_INLINE_LAMBDA { part = fma(r[first + i + 1], r[first + i + 1], part); });
        sum = sum + convert_real<double>(part);
      });
      const Term unit = convert_real<double>(x.load_unit(block, slot));
      return unit * unit * sum;
    } else {
      x.load(block, slot, r);
      return norm_term(r);
    }
  }
  /// Returns the same of numbers that are not rounded when they are stored.
  TRELLIS_SITE_FN static Term norm_term(const Real (&r)[N]) {
    const Term first = convert_real<double>(r[0]);
    Term sum = first * first;
    unroll<N - 1>([&](auto i) TRELLIS_INLINE_LAMBDA {
      const Term t = convert_real<double>(r[i + 1]);
      sum = fma(t, t, sum);
    });
    return sum;
  }
  /// Computes conj(x) . y at a site, of what is stored, 16-bit numbers in groups, as in norm_term().
  TRELLIS_SITE_FN static void dot_term(const Array& x, const Array& y, int block, int slot, Term& re,
                                       Term& im) {
    Real u[N], v[N];
    re = im = Term(0.0);
    if constexpr (Array::rounds) {
      x.load_stored(block, slot, u);
      y.load_stored(block, slot, v);
      unroll<N / group>([&](auto g) TRELLIS_INLINE_LAMBDA {
        Real part_re(0.0f), part_im(0.0f);
        unroll<group / 2>([&](auto k) TRELLIS_INLINE_LAMBDA {
          constexpr int i = group * g + 2 * k;
          add_conj_product(u[i], u[i + 1], v[i], v[i + 1], part_re, part_im);
        });
        re = re + convert_real<double>(part_re);
        im = im + convert_real<double>(part_im);
      });
      const Term unit =
          convert_real<double>(x.load_unit(block, slot)) * convert_real<double>(y.load_unit(block, slot));
      re = unit * re;
      im = unit * im;
    } else {
      x.load(block, slot, u);
      y.load(block, slot, v);
      unroll<N / 2>([&](auto k) TRELLIS_INLINE_LAMBDA {
        constexpr int i = 2 * k;
        add_conj_product(convert_real<double>(u[i]), convert_real<double>(u[i + 1]),
                         convert_real<double>(v[i]), convert_real<double>(v[i + 1]), re, im);
      });
    }
  }

  /// Stores a x + b y and leaves it in r; a and b point to the (re, im) of this slot.
  template <bool is_complex>
  TRELLIS_SITE_FN static void combine(const Array& out, const Array& x, const Array& y, bool has_y,
                                      const double* a, const double* b, int block, int slot, Real (&r)[N]) {
    unroll<N / part>([&](auto k) TRELLIS_INLINE_LAMBDA {
      constexpr int first = part * k;
      Real u[part];
      x.load_part(block, slot, first, u);
      multiply<is_complex>(u, a);
      if (has_y) {
        Real v[part];
        y.load_part(block, slot, first, v);
        add_product<is_complex>(u, b, v);
      }
      out.store_part(block, slot, first, u);
      unroll<part>([&](auto i) TRELLIS_INLINE_LAMBDA { r[first + i] = u[i]; });
    });
  }

  TRELLIS_SITE_FN static void update(const Array& x, const Array& r, const Array& p, Scalar alpha,
                                     Scalar beta, int block, int slot) {
    unroll<N / part>([&](auto k) TRELLIS_INLINE_LAMBDA {
      constexpr int first = part * k;
      Real u[part], v[part];
      p.load_part(block, slot, first, v);
      x.load_part(block, slot, first, u);
      unroll<part>([&](auto i) TRELLIS_INLINE_LAMBDA { u[i] = fma(Real(alpha), v[i], u[i]); });
      x.store_part(block, slot, first, u);
      r.load_part(block, slot, first, u);
      unroll<part>([&](auto i) TRELLIS_INLINE_LAMBDA { v[i] = fma(Real(beta), v[i], u[i]); });
      p.store_part(block, slot, first, v);
    });
  }

 private:
  static constexpr int group = 6;  // it divides N
  /// So many reals of a site are loaded, computed and stored before the next. CPUs take four of a spinor:
  /// their registers do not hold two whole ones (an update is 1.1 to 1.5 times faster), and with two at a
  /// time streams from far are slower. All are taken where 16 bits are converted, and on GPUs, which load
  /// several at once.
  static constexpr int part = Array::rounds || Array::is_gpu || N < 8 ? N : 4;

  /// Adds conj(x) y to re, im.
  template <class T>
  TRELLIS_SITE_FN static void add_conj_product(const T& xr, const T& xi, const T& yr, const T& yi, T& re,
                                               T& im) {
    re = fma(xi, yi, fma(xr, yr, re));
    im = fnma(xi, yr, fma(xr, yi, im));
  }
  template <bool is_complex>
  TRELLIS_SITE_FN static void multiply(Real (&r)[part], const double* a) {
    const Real re = Scalar(a[0]), im = Scalar(a[1]);
    if constexpr (is_complex) {
      unroll<part / 2>([&](auto k) TRELLIS_INLINE_LAMBDA {
        constexpr int i = 2 * k;
        const Real u = r[i], v = r[i + 1];
        r[i] = fnma(im, v, re * u);
        r[i + 1] = fma(im, u, re * v);
      });
    } else {
      unroll<part>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = re * r[i]; });
    }
  }
  /// Adds b s to r.
  template <bool is_complex>
  TRELLIS_SITE_FN static void add_product(Real (&r)[part], const double* b, const Real (&s)[part]) {
    const Real re = Scalar(b[0]), im = Scalar(b[1]);
    if constexpr (is_complex) {
      unroll<part / 2>([&](auto k) TRELLIS_INLINE_LAMBDA {
        constexpr int i = 2 * k;
        r[i] = fnma(im, s[i + 1], fma(re, s[i], r[i]));
        r[i + 1] = fma(im, s[i], fma(re, s[i + 1], r[i + 1]));
      });
    } else {
      unroll<part>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = fma(re, s[i], r[i]); });
    }
  }
};

struct SiteRange;
template <class Layout, class Storage>
void launch_combine(const CombineCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_dot(const DotCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_update(const UpdateCall& call, const SiteRange& sites);

}  // namespace trellis
