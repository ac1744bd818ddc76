#pragma once
/// Links are multiplied with colour vectors in 16-bit fixed point: sums of products of the stored integers,
/// exact in 32 bits (algebra/fixed_point.hpp), become floats once they are complete. A matrix and a vector
/// take 18 pair products and 6 conversions, where floats take 36 multiplications and 24 conversions; and
/// since integers do not round, all layouts agree however they add them.
#include "trellis/view/structured.hpp"

namespace trellis {

/// These are three complex numbers as pairs of integers: a row of a link, or a colour vector.
template <class Pair>
struct ColorPairs {
  Pair c[Nc];
};

/// This is a complex number as two sums of products.
template <class Pair>
struct ComplexSum {
  Pair re, im;
};

/// Returns a complex sum of products of link components as a multiple of 1/32768, to the nearest. `sum` holds
/// rounding_term already.
inline constexpr int32_t rounding_term = 1 << 14;
template <class Pair>
TRELLIS_SITE_FN Pair link_pair(const ComplexSum<Pair>& sum) {
  return pack_saturated(shift_right(sum.re, 15), shift_right(sum.im, 15));
}

/// Returns conj(a x b), rounded.
template <class Pair>
TRELLIS_SITE_FN ColorPairs<Pair> third_row(const ColorPairs<Pair>& a, const ColorPairs<Pair>& b) {
  ColorPairs<Pair> conjugate, swapped, r;
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    conjugate.c[j] = conjugate_pair(b.c[j]);
    swapped.c[j] = swap_pair(b.c[j]);
  });
  const Pair round(rounding_term);
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    constexpr int k = (j + 1) % Nc, l = (j + 2) % Nc;
    r.c[j] = link_pair(
        ComplexSum<Pair>{add_products(round, a.c[k], conjugate.c[l]) - products(a.c[l], conjugate.c[k]),
                         add_products(round, a.c[l], swapped.c[k]) - products(a.c[k], swapped.c[l])});
  });
  return r;
}

/// This class gives the rows of a link of N reals in fixed point, as multiples of 1/32768 of its scale.
template <class Array, int N>
class IntegerRows {
 public:
  using Real = typename Array::Real;
  using Pair = typename Array::Pair;
  TRELLIS_SITE_FN IntegerRows(const Array& array, int block, int mu)
      : array_{array}, block_{block}, mu_{mu} {}

  /// Rows are asked for in the order 0, 1, 2.
  template <int i>
  TRELLIS_SITE_FN ColorPairs<Pair> row() {
    if constexpr (N == 18) return read<i>();
    if constexpr (i == 0) return first_ = read<0>();
    if constexpr (i == 1) return second_ = read<1>();
    ColorPairs<Pair> third = third_row(first_, second_);
    if constexpr (N == 14) {
      const Pair d = array_.template pair<6>(block_, mu_), round(rounding_term);
      unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
        third.c[j] = link_pair(ComplexSum<Pair>{add_products(round, conjugate_pair(d), third.c[j]),
                                                add_products(round, swap_pair(d), third.c[j])});
      });
    }
    return third;
  }
  /// Returns the number with which products with rows are to be multiplied, beside the unit of the vector.
  TRELLIS_SITE_FN Real unit() const {
    if constexpr (N == 18)
      return array_.load_unit(block_, mu_);
    else
      return Real(1.0f / link_full_scale);
  }

 private:
  template <int i>
  TRELLIS_SITE_FN ColorPairs<Pair> read() const {
    return {array_.template pair<3 * i>(block_, mu_), array_.template pair<3 * i + 1>(block_, mu_),
            array_.template pair<3 * i + 2>(block_, mu_)};
  }
  const Array& array_;
  int block_, mu_;
  ColorPairs<Pair> first_, second_;  // they are used for 12 and 14 reals only
};

/// Vectors v have these forms for the products with a link: U v needs conj(v) and (im, re), U^dagger v needs
/// v and (im, -re).
template <class Pair>
struct ProductForms {
  Pair re, im;
};
template <bool is_dagger, class Pair>
TRELLIS_SITE_FN ProductForms<Pair> product_forms(const Pair& v) {
  if constexpr (is_dagger)
    return {v, conjugate_pair(swap_pair(v))};
  else
    return {conjugate_pair(v), swap_pair(v)};
}

/// Returns component i of U v, which is row i times v.
template <class Pair>
TRELLIS_SITE_FN ComplexSum<Pair> row_product(const ColorPairs<Pair>& row, const ProductForms<Pair> (&v)[Nc]) {
  ComplexSum<Pair> sum = {products(row.c[0], v[0].re), products(row.c[0], v[0].im)};
  unroll<Nc - 1>([&](auto j) TRELLIS_INLINE_LAMBDA {
    sum.re = add_products(sum.re, row.c[j + 1], v[j + 1].re);
    sum.im = add_products(sum.im, row.c[j + 1], v[j + 1].im);
  });
  return sum;
}

/// Adds row j to all components of U^dagger v: += conj(row j) v_j, and = for j = 0.
template <int j, class Pair>
TRELLIS_SITE_FN void add_row_dagger(ComplexSum<Pair> (&sum)[Nc], const ColorPairs<Pair>& row,
                                    const ProductForms<Pair>& v) {
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    if constexpr (j == 0)
      sum[i] = {products(row.c[i], v.re), products(row.c[i], v.im)};
    else
      sum[i] = {add_products(sum[i].re, row.c[i], v.re), add_products(sum[i].im, row.c[i], v.im)};
  });
}

template <class Real, class Pair>
TRELLIS_SITE_FN Complex<Real> to_complex(const Real& unit, const ComplexSum<Pair>& sum) {
  return {unit * integer_to_float(sum.re, static_cast<Real*>(nullptr)),
          unit * integer_to_float(sum.im, static_cast<Real*>(nullptr))};
}

/// This is a colour vector as it is stored, and the number to multiply it with.
template <class Real, class Pair>
struct IntegerVector {
  ColorPairs<Pair> v;
  Real unit;
};
template <class Layout, class Storage>
TRELLIS_SITE_FN auto integer_vector(const ColorVectorView<Layout, Storage>& in, int block, int slot) {
  using Array = typename ColorVectorView<Layout, Storage>::Array;
  IntegerVector<typename Array::Real, typename Array::Pair> r;
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA { r.v.c[c] = in.array().template pair<c>(block, slot); });
  r.unit = in.array().load_unit(block, slot);
  return r;
}

/// This is the same of a half spinor.
template <class Real, class Pair>
struct IntegerHalfSpinor {
  ColorPairs<Pair> s[2];
  Real unit;
};

/// Returns a + b or a - b; the other one returns a + i b or a - i b.
template <bool plus, class Pair>
TRELLIS_SITE_FN Pair combined(const Pair& a, const Pair& b) {
  if constexpr (plus)
    return add_pairs(a, b);
  else
    return subtract_pairs(a, b);
}
template <bool plus, class Pair>
TRELLIS_SITE_FN Pair combined_i(const Pair& a, const Pair& b) {
  return combined<!plus>(a, conjugate_pair(swap_pair(b)));
}

/// Returns one colour of the upper components of (1 + gamma_mu) psi or (1 - gamma_mu) psi.
template <int mu, bool plus, class Pair>
TRELLIS_SITE_FN void project_pairs(Pair (&h)[2], const Pair (&psi)[Ns]) {
  if constexpr (mu == 0) {
    h[0] = combined_i<plus>(psi[0], psi[3]);
    h[1] = combined_i<plus>(psi[1], psi[2]);
  } else if constexpr (mu == 1) {
    h[0] = combined<!plus>(psi[0], psi[3]);
    h[1] = combined<plus>(psi[1], psi[2]);
  } else if constexpr (mu == 2) {
    h[0] = combined_i<plus>(psi[0], psi[2]);
    h[1] = combined_i<!plus>(psi[1], psi[3]);
  } else {
    h[0] = combined<plus>(psi[0], psi[2]);
    h[1] = combined<plus>(psi[1], psi[3]);
  }
}
/// Return a + sign b and a + i sign b, sign = 1 or -1.
TRELLIS_SITE_FN int32_t add_signed_pairs(int32_t a, int32_t sign, int32_t b) {
  return pack_pair(pair_re(a) + sign * pair_re(b), pair_im(a) + sign * pair_im(b));
}
TRELLIS_SITE_FN int32_t add_signed_i_pairs(int32_t a, int32_t sign, int32_t b) {
  return pack_pair(pair_re(a) - sign * pair_im(b), pair_im(a) + sign * pair_re(b));
}
/// Does the same as project_pairs<mu, sign > 0>(), for GPUs: there a product with the sign costs nothing, and
/// one text for both signs halves the instructions.
template <int mu>
TRELLIS_SITE_FN void project_signed_pairs(int32_t (&h)[2], const int32_t (&psi)[Ns], int32_t sign) {
  if constexpr (mu == 0) {
    h[0] = add_signed_i_pairs(psi[0], sign, psi[3]);
    h[1] = add_signed_i_pairs(psi[1], sign, psi[2]);
  } else if constexpr (mu == 1) {
    h[0] = add_signed_pairs(psi[0], -sign, psi[3]);
    h[1] = add_signed_pairs(psi[1], sign, psi[2]);
  } else if constexpr (mu == 2) {
    h[0] = add_signed_i_pairs(psi[0], sign, psi[2]);
    h[1] = add_signed_i_pairs(psi[1], -sign, psi[3]);
  } else {
    h[0] = add_signed_pairs(psi[0], sign, psi[2]);
    h[1] = add_signed_pairs(psi[1], sign, psi[3]);
  }
}
/// Returns the same of all colours of a site.
template <int mu, class Layout, class Storage>
TRELLIS_SITE_FN auto projected_signed_integers(const SpinorView<Layout, Storage>& in, int block, int slot,
                                               int32_t sign) {
  using Array = typename SpinorView<Layout, Storage>::Array;
  static_assert(Array::is_gpu);
  IntegerHalfSpinor<typename Array::Real, int32_t> h;
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
    int32_t psi[Ns], p[2];
    unroll<Ns>([&](auto s)
                   TRELLIS_INLINE_LAMBDA { psi[s] = in.array().template pair<3 * s + c>(block, slot); });
    project_signed_pairs<mu>(p, psi, sign);
    h.s[0].c[c] = p[0];
    h.s[1].c[c] = p[1];
  });
  h.unit = in.array().load_unit(block, slot);
  return h;
}

template <int mu, bool plus, class Layout, class Storage>
TRELLIS_SITE_FN auto projected_integers(const SpinorView<Layout, Storage>& in, int block, int slot) {
  using Array = typename SpinorView<Layout, Storage>::Array;
  using Pair = typename Array::Pair;
  IntegerHalfSpinor<typename Array::Real, Pair> h;
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
    Pair psi[Ns], p[2];
    unroll<Ns>([&](auto s)
                   TRELLIS_INLINE_LAMBDA { psi[s] = in.array().template pair<3 * s + c>(block, slot); });
    project_pairs<mu, plus>(p, psi);
    h.s[0].c[c] = p[0];
    h.s[1].c[c] = p[1];
  });
  h.unit = in.array().load_unit(block, slot);
  return h;
}

}  // namespace trellis
