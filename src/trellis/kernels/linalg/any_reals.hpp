#pragma once
/// This file has the linear algebra of fields with any number of reals a site (linear_algebra.hpp has that of
/// spinors and colour vectors). Sites with an even number of reals hold complex numbers, those with an odd
/// number real ones. Components are taken in pairs, so that no site has to fit into registers.
#include "trellis/kernels/linalg/linear_algebra.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

template <class Layout, class Storage>
struct AnyReals {
  using Elements = SiteElements<Layout, Storage>;
  using Real = typename Elements::Real;
  using Scalar = typename Elements::Scalar;
  using Term = LaneReal<double, Layout::lanes>;

  /// Computes out = a x + b y; a and b point to the (re, im) of this slot. Outputs may be inputs: pair i is
  /// stored after it is read, and in fixed point the scale is found in a pass before.
  template <bool is_complex>
  TRELLIS_SITE_FN static void combine(const Elements& out, const Elements& x, const Elements& y, bool has_y,
                                      const double* a, const double* b, int block, int slot) {
    const Combination<is_complex> value(x, y, has_y, a, b, block, slot);
    store_all(out, block, slot, value);
  }
  /// Does the same for the pair of components i and i + 1 alone. @pre the storage is not fixed point
  template <bool is_complex>
  TRELLIS_SITE_FN static void combine_pair(const Elements& out, const Elements& x, const Elements& y,
                                           bool has_y, const double* a, const double* b, int block, int slot,
                                           int i) {
    const Combination<is_complex> value(x, y, has_y, a, b, block, slot);
    Real r[2];
    value(i, r);
    out.store(block, slot, i, r, Real(Scalar(1)));
  }

  /// Returns |x|^2 at a site, of what is stored: in double, in the order of the components.
  TRELLIS_SITE_FN static Term norm_term(const Elements& x, int block, int slot) {
    Term sum(0.0);
    for (int i = 0; i < x.reals(); i += 2) {
      Real r[2];
      x.stored_pair(block, slot, i, r);
      for (int k = 0; k < 2 && i + k < x.reals(); ++k) {
        const Term t = convert_real<double>(r[k]);
        sum = fma(t, t, sum);
      }
    }
    if constexpr (!Elements::is_half) return sum;
    const Term unit = convert_real<double>(x.unit(block, slot));
    return unit * unit * sum;
  }

  /// Computes conj(x) . y at a site, of what is stored; of an odd number of reals it gives x . y and 0.
  TRELLIS_SITE_FN static void dot_term(const Elements& x, const Elements& y, int block, int slot, Term& re,
                                       Term& im) {
    re = im = Term(0.0);
    const bool is_complex = x.reals() % 2 == 0;
    for (int i = 0; i < x.reals(); i += 2) {
      Real r[2], s[2];
      x.template stored_pair<Access::constant>(block, slot, i, r);
      y.template stored_pair<Access::constant>(block, slot, i, s);
      const Term u[2] = {convert_real<double>(r[0]), convert_real<double>(r[1])};
      const Term v[2] = {convert_real<double>(s[0]), convert_real<double>(s[1])};
      re = fma(u[0], v[0], re);
      if (i + 1 < x.reals()) re = fma(u[1], v[1], re);
      if (is_complex) im = fnma(u[1], v[0], fma(u[0], v[1], im));
    }
    if constexpr (Elements::is_half) {
      const Term unit = convert_real<double>(x.unit(block, slot)) * convert_real<double>(y.unit(block, slot));
      re = unit * re;
      im = unit * im;
    }
  }

  /// Computes x += alpha p, then p = r + beta p.
  TRELLIS_SITE_FN static void update(const Elements& x, const Elements& r, const Elements& p, Scalar alpha,
                                     Scalar beta, int block, int slot) {
    const Real x_unit = x.unit(block, slot), r_unit = r.unit(block, slot), p_unit = p.unit(block, slot);
    store_all(x, block, slot, [&](int i, Real(&value)[2]) TRELLIS_INLINE_LAMBDA {
      Real v[2];
      x.load_pair(block, slot, i, x_unit, value);
      p.load_pair(block, slot, i, p_unit, v);
      for (int k = 0; k < 2; ++k) value[k] = fma(Real(alpha), v[k], value[k]);
    });
    store_all(p, block, slot, [&](int i, Real(&value)[2]) TRELLIS_INLINE_LAMBDA {
      Real u[2];
      p.load_pair(block, slot, i, p_unit, value);
      r.load_pair(block, slot, i, r_unit, u);
      for (int k = 0; k < 2; ++k) value[k] = fma(Real(beta), value[k], u[k]);
    });
  }

 private:
  /// It gives the components i and i + 1 of a x + b y.
  template <bool is_complex>
  class Combination {
   public:
    TRELLIS_SITE_FN Combination(const Elements& x, const Elements& y, bool has_y, const double* a,
                                const double* b, int block, int slot)
        : x_{x},
          y_{y},
          has_y_{has_y},
          block_{block},
          slot_{slot},
          x_unit_{x.unit(block, slot)},
          y_unit_{has_y ? y.unit(block, slot) : Real(1)},
          a_re_{Scalar(a[0])},
          a_im_{Scalar(a[1])},
          b_re_{has_y ? Scalar(b[0]) : Scalar(0)},
          b_im_{has_y ? Scalar(b[1]) : Scalar(0)} {}
    TRELLIS_SITE_FN void operator()(int i, Real (&r)[2]) const {
      Real u[2], v[2];
      x_.load_pair(block_, slot_, i, x_unit_, u);
      if constexpr (is_complex) {
        r[0] = fnma(a_im_, u[1], a_re_ * u[0]);
        r[1] = fma(a_im_, u[0], a_re_ * u[1]);
      } else {
        r[0] = a_re_ * u[0];
        r[1] = a_re_ * u[1];
      }
      if (!has_y_) return;
      y_.load_pair(block_, slot_, i, y_unit_, v);
      if constexpr (is_complex) {
        r[0] = fnma(b_im_, v[1], fma(b_re_, v[0], r[0]));
        r[1] = fma(b_im_, v[0], fma(b_re_, v[1], r[1]));
      } else {
        r[0] = fma(b_re_, v[0], r[0]);
        r[1] = fma(b_re_, v[1], r[1]);
      }
    }

   private:
    const Elements &x_, &y_;
    bool has_y_;
    int block_, slot_;
    Real x_unit_, y_unit_, a_re_, a_im_, b_re_, b_im_;
  };

  template <class Value>
  TRELLIS_SITE_FN static void store_all(const Elements& out, int block, int slot, const Value& value) {
    Real largest(Scalar(0)), r[2];
    if constexpr (Elements::is_half)
      for (int i = 0; i < out.reals(); i += 2) {
        value(i, r);
        largest = larger_magnitude(larger_magnitude(largest, r[0]), r[1]);
      }
    const Real inverse = out.store_scale(block, slot, largest);
    for (int i = 0; i < out.reals(); i += 2) {
      value(i, r);
      out.store(block, slot, i, r, inverse);
    }
  }
};

}  // namespace trellis
