#pragma once
/// This kernel does what fifth_dimension.hpp does, with complex coefficients (the zMoebius form):
///
///   z_i   = p_i y_i + r_i y_{i-1} + q_i z_{i-1},   y_{-1} = y_{N-1}, q_0 = 0
///   out_i = x_i + a_i z_i + b_i z_{i-1} + c_i z_{N-1},   z_{-1} = z_{N-1};  x may be absent
///
/// It is a kernel of its own, so that the real one keeps half the arithmetic. In place is allowed. The
/// must-move bytes per site and slice are in, out and x.
#include "trellis/kernels/dirac/fifth_dimension.hpp"

namespace trellis {

template <class Layout, class Storage>
class ComplexFifthDimension {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit ComplexFifthDimension(const FifthDimensionCall& call)
      : out_{call.out},
        in_{call.in},
        x_{call.x},
        order_{call.slices, call.is_dagger},
        has_x_{call.has_x},
        has_recursion_{call.coefficients.has_recursion} {
    gather_coefficients(coefficients_, call, [](std::complex<double> z) {
      return Complex<Scalar>{Scalar(z.real()), Scalar(z.imag())};
    });
  }

  /// Computes all slices of one block and right-hand side.
  TRELLIS_SITE_FN void operator()(int block, int rhs) const {
    const int first = rhs * order_.slices;
    Spinor<Real> z[largest_Ls];
    for (int s = 0; s < order_.slices; ++s) z[s] = in_.load(block, first + s);
    if (has_recursion_) unroll<2>([&](auto chirality) TRELLIS_INLINE_LAMBDA { recur<chirality>(z); });
    for (int s = 0; s < order_.slices; ++s) {
      Spinor<Real> sum{};
      if (has_x_) sum = x_.load(block, first + s);
      unroll<2>([&](auto chirality) TRELLIS_INLINE_LAMBDA { combine<chirality>(sum, z, s); });
      out_.store(block, first + s, sum);
    }
  }

 private:
  template <int k>
  TRELLIS_SITE_FN Complex<Real> coefficient(int i, int chirality) const {
    const Complex<Scalar>& z = coefficients_[chirality][i][k];
    return {Real(z.re), Real(z.im)};
  }

  /// Computes z from y, in its place.
  template <int chirality>
  TRELLIS_SITE_FN void recur(Spinor<Real> (&z)[largest_Ls]) const {
    const Spinor<Real>& end = z[order_.slice(-1, chirality)];
    ColorVector<Real> before[2] = {end.s[2 * chirality], end.s[2 * chirality + 1]};  // this is y_{i-1}
    ColorVector<Real> last[2]{};                                                     // this is z_{i-1}
    for (int i = 0; i < order_.slices; ++i) {
      Spinor<Real>& here = z[order_.slice(i, chirality)];
      const Complex<Real> p = coefficient<0>(i, chirality), r = coefficient<1>(i, chirality);
      const Complex<Real> q = coefficient<2>(i, chirality);
      unroll<2>([&](auto spin) TRELLIS_INLINE_LAMBDA {
        unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
          Complex<Real>& y = here.s[2 * chirality + spin].c[c];
          Complex<Real> sum = p * y;
          mul_add(sum, r, before[spin].c[c]);
          mul_add(sum, q, last[spin].c[c]);
          before[spin].c[c] = y;
          last[spin].c[c] = y = sum;
        });
      });
    }
  }

  /// Adds: sum += a_i z_i + b_i z_{i-1} + c_i z_{N-1} on slice s.
  template <int chirality>
  TRELLIS_SITE_FN void combine(Spinor<Real>& sum, const Spinor<Real> (&z)[largest_Ls], int s) const {
    const int i = order_.number(s, chirality);
    const Spinor<Real>& here = z[s];
    const Spinor<Real>& previous = z[order_.slice(i - 1, chirality)];
    const Spinor<Real>& end = z[order_.slice(-1, chirality)];
    const Complex<Real> a = coefficient<3>(i, chirality), b = coefficient<4>(i, chirality);
    const Complex<Real> c = coefficient<5>(i, chirality);
    unroll<2>([&](auto k) TRELLIS_INLINE_LAMBDA {
      constexpr int spin = 2 * chirality + k;
      unroll<Nc>([&](auto colour) TRELLIS_INLINE_LAMBDA {
        Complex<Real>& to = sum.s[spin].c[colour];
        mul_add(to, a, here.s[spin].c[colour]);
        mul_add(to, b, previous.s[spin].c[colour]);
        mul_add(to, c, end.s[spin].c[colour]);
      });
    });
  }

  Spinors out_, in_, x_;
  SliceOrder order_;
  bool has_x_, has_recursion_;
  Complex<Scalar> coefficients_[2][largest_Ls][6] = {};  ///< they are as in FifthDimension
};

}  // namespace trellis
