#pragma once
/// Links are projected to U(3) here, and the projection has a derivative (algebra/u3_projection.hpp).
/// Eigenvalues of a link take about 18 rotations of 180 flop; with them a projection is 5 products of
/// matrices, a derivative 8.
#include <array>

#include "trellis/algebra/u3_projection.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

struct U3ProjectionCall {
  GaugeCall links;
  RawField out;
};
template <class Layout, class Storage>
class U3Projection {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  explicit U3Projection(const U3ProjectionCall& call)
      : V_{call.links.links, call.links.tables}, out_{call.out, call.links.tables} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) out_.store(block, mu, project_to_u3(V_.link(V_.at(block), mu)));
  }

 private:
  Gauge V_, out_;
};

/// G (of W) becomes the derivative with respect to V, in place; the term is the number of the site's links at
/// which the guard acted.
struct U3DerivativeCall {
  GaugeCall links;                 ///< it has V
  RawField projected, derivative;  ///< they are W and G
  double cut = 0;
};
template <class Layout, class Storage>
class U3Derivative {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit U3Derivative(const U3DerivativeCall& call)
      : V_{call.links.links, call.links.tables},
        W_{call.projected, call.links.tables},
        G_{call.derivative, call.links.tables},
        cut_{call.cut} {}
  TRELLIS_SITE_FN std::array<Real, 1> operator()(int block) const {
    const Position x = V_.at(block);
    Real guarded(0.0);
    for (int mu = 0; mu < 4; ++mu) {
      Real is_guarded;
      G_.store(
          block, mu,
          u3_projection_derivative(V_.link(x, mu), W_.link(x, mu), G_.link(x, mu), Real(cut_), is_guarded));
      guarded = guarded + is_guarded;
    }
    return {guarded};
  }

 private:
  Gauge V_, W_, G_;
  double cut_;
};

struct SiteRange;
struct ExactSum;
template <class Layout, class Storage>
void launch_u3_projection(const U3ProjectionCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_u3_derivative(const U3DerivativeCall& call, const SiteRange& inner_blocks, ExactSum* guarded);

}  // namespace trellis
