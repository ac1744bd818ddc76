#pragma once
/// What domain-wall operators do along the fifth dimension, local to a 4-D site: products and exact inverses
/// of matrices that are cyclic-bidiagonal in the slices, one for each chirality,
///
///   (T psi)_i = u_i psi_i + v_i psi_{i-1},  psi_{-1} = psi_{N-1}
///
/// in the order i = s (chirality +) or i = Ls - 1 - s (chirality -), exchanged for adjoints. The inverse of T
/// is one pass of z_i = p_i y_i + q_i z_{i-1} and the correction x_i = z_i + w_i z_{N-1}, p = 1/u, q = -v/u,
/// w_i = Q_i / (1 - Q_{N-1}), Q_i = q_0 ... q_i: exact, with 6 flop a real in place of 2 Ls for a dense
/// inverse.
///
///   out = x + scale (second (first^-1 (zeroth in))),   each of the three may be absent, and x too
///
/// In place is allowed. Must-move bytes per site and slice: in, out and x.
#include "trellis/view/structured.hpp"

namespace trellis {

inline constexpr int largest_Ls = 32;

/// u_i and v_i of the two chiralities in their own order of slices.
struct CyclicBidiagonal {
  double u[2][largest_Ls], v[2][largest_Ls];
};
/// p, q, w of its inverse.
struct CyclicInverse {
  double p[2][largest_Ls], q[2][largest_Ls], w[2][largest_Ls];
};

struct FifthDimensionCall {
  RawField out, in, x;
  int slices = 1, rhs = 1;
  bool is_dagger = false;  ///< the order of slices is exchanged between the chiralities
  bool has_before = false, has_inverse = false, has_after = false;
  CyclicBidiagonal before;  ///< applied first
  CyclicInverse inverse;    ///< then
  CyclicBidiagonal after;   ///< last
  double scale = 1.0;
  bool has_x = false;
};

template <class Layout, class Storage>
class FifthDimension {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit FifthDimension(const FifthDimensionCall& call)
      : call_{call}, out_{call.out}, in_{call.in}, x_{call.x} {}

  /// All slices of one block and right-hand side.
  TRELLIS_SITE_FN void operator()(int block, int rhs) const {
    Real work[largest_Ls][24];
    const int first = rhs * call_.slices;
    for (int s = 0; s < call_.slices; ++s) in_.array().load(block, first + s, work[s]);
    for (int chirality = 0; chirality < 2; ++chirality) {
      const bool is_upward = (chirality == 0) != call_.is_dagger;
      Real* const begin = work[is_upward ? 0 : call_.slices - 1] + 12 * chirality;
      transform(begin, is_upward ? 24 : -24, chirality);
    }
    const Real scale = Real(Scalar(call_.scale));
    for (int s = 0; s < call_.slices; ++s) {
      if (call_.has_x) {
        Real x[24];
        x_.array().load(block, first + s, x);
        unroll<24>([&](auto k) TRELLIS_INLINE_LAMBDA { x[k] = fma(scale, work[s][k], x[k]); });
        out_.array().store(block, first + s, x);
      } else {
        if (call_.scale != 1.0)
          unroll<24>([&](auto k) TRELLIS_INLINE_LAMBDA { work[s][k] = scale * work[s][k]; });
        out_.array().store(block, first + s, work[s]);
      }
    }
  }

 private:
  /// The three matrices on the 12 reals of one chirality; slice i lies at begin + i stride.
  TRELLIS_SITE_FN void transform(Real* begin, int stride, int chirality) const {
    if (call_.has_before) multiply(begin, stride, call_.before.u[chirality], call_.before.v[chirality]);
    if (call_.has_inverse)
      invert(begin, stride, call_.inverse.p[chirality], call_.inverse.q[chirality],
             call_.inverse.w[chirality]);
    if (call_.has_after) multiply(begin, stride, call_.after.u[chirality], call_.after.v[chirality]);
  }

  TRELLIS_SITE_FN void multiply(Real* begin, int stride, const double* u, const double* v) const {
    Real previous[12];
    const Real* last = begin + (call_.slices - 1) * stride;
    unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA { previous[k] = last[k]; });
    for (int i = 0; i < call_.slices; ++i) {
      Real* here = begin + i * stride;
      const Real a = Real(Scalar(u[i])), b = Real(Scalar(v[i]));
      unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Real self = here[k];
        here[k] = fma(b, previous[k], a * self);
        previous[k] = self;
      });
    }
  }

  TRELLIS_SITE_FN void invert(Real* begin, int stride, const double* p, const double* q,
                              const double* w) const {
    Real z[12];
    unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA { z[k] = Real(Scalar(0)); });
    for (int i = 0; i < call_.slices; ++i) {
      Real* here = begin + i * stride;
      const Real a = Real(Scalar(p[i])), b = Real(Scalar(i == 0 ? 0.0 : q[i]));
      unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
        z[k] = fma(b, z[k], a * here[k]);
        here[k] = z[k];
      });
    }
    for (int i = 0; i < call_.slices; ++i) {
      Real* here = begin + i * stride;
      const Real c = Real(Scalar(w[i]));
      unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA { here[k] = fma(c, z[k], here[k]); });
    }
  }

  FifthDimensionCall call_;
  Spinors out_, in_, x_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites);

}  // namespace trellis
