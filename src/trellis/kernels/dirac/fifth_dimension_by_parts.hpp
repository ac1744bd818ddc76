#pragma once
/// This kernel does what fifth_dimension.hpp does, for GPUs: a thread takes four numbers of one chirality on
/// all slices of a site. It makes z twice, once to find z_{N-1}, in place of keeping all of it: an array of
/// slices would lie in memory.
#include "trellis/kernels/dirac/fifth_dimension.hpp"

namespace trellis {

template <class Layout, class Storage>
class FifthDimensionByParts {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;
  static constexpr int width = 4, parts = 24 / width;

  explicit FifthDimensionByParts(const FifthDimensionCall& call)
      : out_{call.out},
        in_{call.in},
        x_{call.x},
        order_{call.slices, call.is_dagger},
        has_x_{call.has_x},
        has_recursion_{call.coefficients.has_recursion},
        has_product_{call.coefficients.has_product} {
    gather_coefficients(coefficients_, call, [](std::complex<double> z) { return Scalar(z.real()); });
  }

  static int slots(int rhs) { return parts * rhs; }

  /// The slot is right-hand side * parts + part.
  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    const int part = slot % parts;
    const Place at{block, slot / parts * order_.slices, width * part, part / (parts / 2)};
    if (!has_recursion_) return compute<false, false>(at);
    if (has_product_) return compute<true, true>(at);
    compute<true, false>(at);
  }

 private:
  using Numbers = Real[width];
  struct Place {
    int block, first_slot, component, chirality;
  };
  /// It has z_{i-1} and y_{i-1}.
  struct Recursion {
    Numbers last, before;
  };

  template <int k>
  TRELLIS_SITE_FN Real coefficient(int i, const Place& at) const {
    return Real(coefficients_[at.chirality][i][k]);
  }
  TRELLIS_SITE_FN int slot_of(int i, const Place& at) const {
    return at.first_slot + order_.slice(i, at.chirality);
  }

  template <bool has_recursion, bool has_product>
  TRELLIS_SITE_FN void compute(const Place& at) const {
    Numbers end;
    if constexpr (has_recursion) {
      Recursion z;
      start<has_product>(z, at);
      for (int i = 0; i < order_.slices; ++i) advance<has_recursion, has_product>(z, i, at);
      unroll<width>([&](auto k) TRELLIS_INLINE_LAMBDA { end[k] = z.last[k]; });
    } else {
      in_.load_group(at.block, slot_of(-1, at), at.component, end);
    }
    if (has_x_) return combine<has_recursion, has_product, true>(end, at);
    combine<has_recursion, has_product, false>(end, at);
  }

  template <bool has_product>
  TRELLIS_SITE_FN void start(Recursion& z, const Place& at) const {
    if constexpr (has_product) in_.load_group(at.block, slot_of(-1, at), at.component, z.before);
    unroll<width>([&](auto k) TRELLIS_INLINE_LAMBDA { z.last[k] = Real(Scalar(0)); });
  }
  /// Computes z_i = p_i y_i + r_i y_{i-1} + q_i z_{i-1}, or y_i.
  template <bool has_recursion, bool has_product>
  TRELLIS_SITE_FN void advance(Recursion& z, int i, const Place& at) const {
    Numbers y;
    in_.load_group(at.block, slot_of(i, at), at.component, y);
    const Real p = coefficient<0>(i, at), r = coefficient<1>(i, at), q = coefficient<2>(i, at);
    unroll<width>([&](auto k) TRELLIS_INLINE_LAMBDA {
      if constexpr (has_recursion) {
        Real sum = p * y[k];
        if constexpr (has_product) {
          sum = fma(r, z.before[k], sum);
          z.before[k] = y[k];
        }
        z.last[k] = fma(q, z.last[k], sum);
      } else {
        z.last[k] = y[k];
      }
    });
  }
  /// Stores x_i + a_i z_i + b_i z_{i-1} + c_i z_{N-1}. In place is allowed: y_i is read before it is written,
  /// and y_{N-1} before all.
  template <bool has_recursion, bool has_product, bool has_x>
  TRELLIS_SITE_FN void combine(const Numbers& end, const Place& at) const {
    Recursion z;
    start<has_product>(z, at);
    Numbers previous;
    unroll<width>([&](auto k) TRELLIS_INLINE_LAMBDA { previous[k] = end[k]; });
    for (int i = 0; i < order_.slices; ++i) {
      advance<has_recursion, has_product>(z, i, at);
      const Real a = coefficient<3>(i, at), b = coefficient<4>(i, at), c = coefficient<5>(i, at);
      Numbers out;
      if constexpr (has_x) x_.load_group(at.block, slot_of(i, at), at.component, out);
      unroll<width>([&](auto k) TRELLIS_INLINE_LAMBDA {
        Real sum;
        if constexpr (has_x)
          sum = fma(a, z.last[k], out[k]);
        else
          sum = a * z.last[k];
        out[k] = fma(c, end[k], fma(b, previous[k], sum));
        previous[k] = z.last[k];
      });
      out_.store_group(at.block, slot_of(i, at), at.component, out);
    }
  }

  Array out_, in_, x_;
  SliceOrder order_;
  bool has_x_, has_recursion_, has_product_;
  /// They are zero beyond the slices: all of it travels to a GPU.
  Scalar coefficients_[2][largest_Ls][6] = {};
};

}  // namespace trellis
