#pragma once
/// Domain-wall operators do this along the fifth dimension, local to a 4-D site: products and exact inverses
/// of matrices that are cyclic-bidiagonal in the slices, one for each chirality,
///
///   (T psi)_i = u_i psi_i + v_i psi_{i-1},  psi_{-1} = psi_{N-1}
///
/// in the order i = s (chirality +) or i = Ls - 1 - s (chirality -), exchanged for adjoints. The inverse of T
/// is one pass of z_i = p_i y_i + q_i z_{i-1} and the correction x_i = z_i + w_i z_{N-1}, p = 1/u, q = -v/u,
/// w_i = Q_i / (1 - Q_{N-1}), Q_i = q_0 ... q_i: exact, with 5 flop a real in place of 2 Ls - 1 for a dense
/// inverse. A product before the inverse and one after it, and a factor, go into the coefficients, so that
/// every operator is at most one recursion and one combination:
///
///   z_i   = p_i y_i + r_i y_{i-1} + q_i z_{i-1},   y_{-1} = y_{N-1}, q_0 = 0
///   out_i = x_i + a_i z_i + b_i z_{i-1} + c_i z_{N-1},   z_{-1} = z_{N-1};  x may be absent
///
/// In place is allowed. The must-move bytes per site and slice are in, out and x.
#include <complex>

#include "trellis/view/structured.hpp"

namespace trellis {

inline constexpr int largest_Ls = 32;

/// They are the coefficients above, for the two chiralities in their own order of slices.
struct FifthCoefficients {
  std::complex<double> p[2][largest_Ls], r[2][largest_Ls], q[2][largest_Ls];
  std::complex<double> a[2][largest_Ls], b[2][largest_Ls], c[2][largest_Ls];
  bool has_recursion = false;  ///< else z = y
  bool has_product = false;    ///< r is not zero everywhere
  bool is_complex = false;     ///< an imaginary part is not zero: complex_fifth_dimension.hpp
};

struct FifthDimensionCall {
  RawField out, in, x;
  int slices = 1, rhs = 1;
  bool is_dagger = false;  ///< the order of slices is exchanged between the chiralities
  bool has_x = false;
  FifthCoefficients coefficients;
};

/// The slices s have these orders i for the two chiralities.
struct SliceOrder {
  int slices;
  bool is_dagger;

  /// Returns the slice that is number i of a chirality, i = -1 being the last.
  TRELLIS_SITE_FN int slice(int i, int chirality) const {
    if (i < 0) i = slices - 1;
    return (chirality == 0) != is_dagger ? i : slices - 1 - i;
  }
  /// Returns the number of slice s.
  TRELLIS_SITE_FN int number(int s, int chirality) const { return slice(s, chirality); }
};

/// Writes p, r, q, a, b, c to to[chirality][i][0] to [5], each by convert(std::complex<double>).
template <class Number, class Convert>
void gather_coefficients(Number (&to)[2][largest_Ls][6], const FifthDimensionCall& call, Convert&& convert) {
  const FifthCoefficients& m = call.coefficients;
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int i = 0; i < call.slices; ++i) {
      const std::complex<double>* from[6] = {m.p[chirality], m.r[chirality], m.q[chirality],
                                             m.a[chirality], m.b[chirality], m.c[chirality]};
      for (int k = 0; k < 6; ++k) to[chirality][i][k] = convert(from[k][i]);
    }
}

/// The coefficients are real.
template <class Layout, class Storage>
class FifthDimension {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Array = typename Spinors::Array;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit FifthDimension(const FifthDimensionCall& call)
      : out_{call.out},
        in_{call.in},
        x_{call.x},
        order_{call.slices, call.is_dagger},
        has_x_{call.has_x},
        has_recursion_{call.coefficients.has_recursion},
        has_product_{call.coefficients.has_product} {
    gather_coefficients(coefficients_, call, [](std::complex<double> z) { return Scalar(z.real()); });
  }

  /// Computes all slices of one block and right-hand side. Where single components can be stored, one
  /// chirality is finished before the other begins: half of the numbers between the passes, which then stay
  /// near the core.
  TRELLIS_SITE_FN void operator()(int block, int rhs) const {
    const int first = rhs * order_.slices;
    if constexpr (stores_components) {
      Real z[largest_Ls][12];
      for (int chirality = 0; chirality < 2; ++chirality) {
        read(&z[0][0], block, first, chirality);
        combine(&z[0][0], block, first, chirality);
      }
    } else {
      Real z[largest_Ls][24];
      read(&z[0][0], block, first, 0);
      read(&z[0][12], block, first, 1);
      combine_whole(z, block, first);
    }
  }

 private:
  static constexpr bool stores_components = !Array::is_half && !Array::is_gpu;
  static constexpr int row = stores_components ? 12 : 24;  ///< it counts reals from a slice of z to the next

  /// Returns the coefficient (0 to 5: p, r, q, a, b, c) of number i.
  template <int k>
  TRELLIS_SITE_FN Real coefficient(int i, int chirality) const {
    return Real(coefficients_[chirality][i][k]);
  }

  /// Reads z of one chirality, slice by slice.
  TRELLIS_SITE_FN void read(Real* z, int block, int first, int chirality) const {
    if (!has_recursion_) return load(z, block, first, chirality);
    if (has_product_) return recur<true>(z, block, first, chirality);
    recur<false>(z, block, first, chirality);
  }

  TRELLIS_SITE_FN void load(Real* z, int block, int first, int chirality) const {
    for (int s = 0; s < order_.slices; ++s) {
      const Real unit = in_.load_unit(block, first + s);
      unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
        z[row * s + k] = in_.array().component(block, first + s, 12 * chirality + k, unit);
      });
    }
  }

  /// Computes z_i = p_i y_i + r_i y_{i-1} + q_i z_{i-1}.
  template <bool has_product>
  TRELLIS_SITE_FN void recur(Real* z, int block, int first, int chirality) const {
    Real last[12], before[has_product ? 12 : 1];
    if constexpr (has_product) {
      const int s = order_.slice(-1, chirality);
      const Real unit = in_.load_unit(block, first + s);
      unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
        before[k] = in_.array().component(block, first + s, 12 * chirality + k, unit);
      });
    }
    unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA { last[k] = Real(Scalar(0)); });
    for (int i = 0; i < order_.slices; ++i) {
      const int s = order_.slice(i, chirality);
      const Real p = coefficient<0>(i, chirality), r = coefficient<1>(i, chirality);
      const Real q = coefficient<2>(i, chirality);
      const Real unit = in_.load_unit(block, first + s);
      unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Real y = in_.array().component(block, first + s, 12 * chirality + k, unit);
        Real sum = p * y;
        if constexpr (has_product) {
          sum = fma(r, before[k], sum);
          before[k] = y;
        }
        last[k] = fma(q, last[k], sum);
        z[row * s + k] = last[k];
      });
    }
  }

  /// Returns x_i + a_i z_i + b_i z_{i-1} + c_i z_{N-1} of component k of a chirality; here, previous and end
  /// are of z.
  template <bool has_x>
  TRELLIS_SITE_FN Real combined(const Real& a, const Real& b, const Real& c, const Real& here,
                                const Real& previous, const Real& end, int block, int slot, int component,
                                const Real& unit) const {
    Real sum;
    if constexpr (has_x)
      sum = fma(a, here, x_.array().component(block, slot, component, unit));
    else
      sum = a * here;
    return fma(c, end, fma(b, previous, sum));
  }

  TRELLIS_SITE_FN void combine(const Real* z, int block, int first, int chirality) const {
    if (has_x_) return combine_chirality<true>(z, block, first, chirality);
    combine_chirality<false>(z, block, first, chirality);
  }

  /// Stores the components of one chirality.
  template <bool has_x>
  TRELLIS_SITE_FN void combine_chirality(const Real* z, int block, int first, int chirality) const {
    Real end[12], previous[12];
    const Real* const last = z + row * order_.slice(-1, chirality);
    unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA { end[k] = previous[k] = last[k]; });
    const Real unit = Real(Scalar(1));
    for (int i = 0; i < order_.slices; ++i) {
      const int s = order_.slice(i, chirality);
      const Real a = coefficient<3>(i, chirality), b = coefficient<4>(i, chirality);
      const Real c = coefficient<5>(i, chirality);
      // The lanes of a component lie together, and one component after the other.
      using Element = typename Array::Element;
      Element* const to =
          const_cast<Element*>(out_.array().origin_address(block, first + s)) + 12 * chirality * Array::W;
      unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Real here = z[row * s + k];
        store_real(to + k * Array::W, combined<has_x>(a, b, c, here, previous[k], end[k], block, first + s,
                                                      12 * chirality + k, unit));
        previous[k] = here;
      });
    }
  }

  /// Combines slice by slice: 16-bit fixed point needs a site whole, for its scale.
  TRELLIS_SITE_FN void combine_whole(const Real (&z)[largest_Ls][24], int block, int first) const {
    if (has_x_) return combine_slices<true>(z, block, first);
    combine_slices<false>(z, block, first);
  }
  template <bool has_x>
  TRELLIS_SITE_FN void combine_slices(const Real (&z)[largest_Ls][24], int block, int first) const {
    for (int s = 0; s < order_.slices; ++s) {
      Real out[24];
      const Real unit = has_x ? x_.load_unit(block, first + s) : Real(Scalar(1));
      unroll<2>([&](auto chirality) TRELLIS_INLINE_LAMBDA {
        const int i = order_.number(s, chirality);
        const Real* here = z[s] + 12 * chirality;
        const Real* previous = z[order_.slice(i - 1, chirality)] + 12 * chirality;
        const Real* end = z[order_.slice(-1, chirality)] + 12 * chirality;
        const Real a = coefficient<3>(i, chirality), b = coefficient<4>(i, chirality);
        const Real c = coefficient<5>(i, chirality);
        unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
          out[12 * chirality + k] = combined<has_x>(a, b, c, here[k], previous[k], end[k], block, first + s,
                                                    12 * chirality + k, unit);
        });
      });
      out_.array().store(block, first + s, out);
    }
  }

  Spinors out_, in_, x_;
  SliceOrder order_;
  bool has_x_, has_recursion_, has_product_;
  /// They are zero beyond the slices: all of it travels to a GPU.
  Scalar coefficients_[2][largest_Ls][6] = {};
};

struct SiteRange;
template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites);

}  // namespace trellis
