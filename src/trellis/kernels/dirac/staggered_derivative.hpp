#pragma once
/// The derivative of quadratic forms of a staggered hop with respect to its links has outer products of
/// colour vectors. All right-hand sides (poles, pseudofermions) take one pass.
///
///   G_mu(x) += sign p_mu(x) sum_s c_s z_s(x + d mu) z_s(x)^dagger
///
/// p is the forward factor of the hop. It takes 4 (72 + 6) flop per site and right-hand side, 4 * 36 per site
/// for the rest; the must-move bytes per site are 2 * 576 (G) and 48 per right-hand side.
#include "trellis/kernels/dirac/staggered_hop.hpp"

namespace trellis {

inline constexpr double staggered_derivative_flops(int rhs) { return 4.0 * (78.0 * rhs + 54.0); }
inline constexpr double staggered_derivative_bytes(int rhs) { return 2.0 * 576.0 + 48.0 * rhs; }

struct StaggeredDerivativeCall {
  RawHopStencil stencil;  ///< it belongs to the parity of the sites x
  RawPhases phases;
  RawField here, there;                  ///< they are z on the parity of x, and on the other
  RawField ghosts[8];                    ///< they belong to forward legs
  RawField derivative;                   ///< it lies in extended order, slot = mu
  const int32_t* target = nullptr;       ///< it is [block] in the extended order
  const double* coefficients = nullptr;  ///< [slot]
  double sign = 1;
  int slots = 1;
};

template <class Layout>
class StaggeredDerivative {
 public:
  using Vectors = ColorVectorView<Layout, double>;
  using Matrices = ObjectView<Layout, double, ColorMatrix, 18>;
  using Real = typename Vectors::Real;

  explicit StaggeredDerivative(const StaggeredDerivativeCall& call)
      : call_{call},
        stencil_{call.stencil},
        phases_{call.phases},
        here_{call.here},
        there_{call.there},
        G_{call.derivative} {
    for (int mu = 0; mu < 4; ++mu) ghosts_[mu] = Vectors(call.ghosts[2 * mu]);
  }

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) {
      const HopNeighbour n = stencil_.neighbour(block, 2 * mu);
      ColorMatrix<Real> sum = zero_matrix<Real>();
      for (int slot = 0; slot < call_.slots; ++slot) add_product(sum, n, mu, block, slot);
      const Complex<Real> p = Real(call_.sign) * phases_.phase(block, 2 * mu);
      const int target = call_.target[block];
      ColorMatrix<Real> G = G_.load(target, mu);
      unroll<Nc * Nc>([&](auto k)
                          TRELLIS_INLINE_LAMBDA { mul_add(G.e[k / Nc][k % Nc], p, sum.e[k / Nc][k % Nc]); });
      G_.store(target, mu, G);
    }
  }

 private:
  /// Adds: sum += c z(x + d mu) z(x)^dagger.
  TRELLIS_SITE_FN void add_product(ColorMatrix<Real>& sum, const HopNeighbour& n, int mu, int block,
                                   int slot) const {
    ColorVector<Real> ahead;
    if (n.is_ghost) {
      ahead = ghosts_[mu].load(n.index, slot);
    } else {
      ahead = there_.load(n.index, slot);
      stencil_.template move_lanes<Real>(ahead, 2 * mu, n.moves);
    }
    const ColorVector<Real> here = Real(call_.coefficients[slot]) * here_.load(block, slot);
    unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
      conj_mul_add(sum.e[k / Nc][k % Nc], here.c[k % Nc], ahead.c[k / Nc]);
    });
  }

  StaggeredDerivativeCall call_;
  HopStencilView<Layout> stencil_;
  PhaseView<Layout, double> phases_;
  Vectors here_, there_, ghosts_[4];
  Matrices G_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_staggered_derivative(const StaggeredDerivativeCall& call, const SiteRange& sites);

}  // namespace trellis
