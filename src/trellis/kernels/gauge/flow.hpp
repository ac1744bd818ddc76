#pragma once
/// The kernel does one stage of the Runge-Kutta integrator of the gradient flow (M. Luescher,
/// arXiv:1006.4518, eq. C.3):
///
///   W <- a TA( A(V) V^dagger ) + b W,   V' = exp(W) V,
///
/// A are the staples of the action with coefficients c0, c1; (c0, c1) = (1, 0) is the Wilson flow. W has 8
/// components a link. Links and W are read and written.
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/kernels/gauge/action.hpp"

namespace trellis {

struct FlowStageCall {
  GaugeCall gauge;
  RawField out;        ///< it is V'
  RawField generator;  ///< it is W
  double a = 0, b = 0;
  double c0 = 1, c1 = 0;
};

template <class Layout, class Storage, ActionLoops known = ActionLoops::with_rectangles>
class FlowStage {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit FlowStage(const FlowStageCall& call)
      : call_{call},
        V_{call.gauge.links, call.gauge.tables},
        out_{call.out, call.gauge.tables},
        W_{call.generator} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) (*this)(block, mu);
  }
  /// Does one direction, which is what a thread of a GPU takes.
  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    const Position x = V_.at(block);
    const auto staples = action_staples<known>(V_, x, mu, call_.c0, call_.c1);
    const auto link =
        V_.link(x, mu);  // it comes behind the staples, which need all registers of a GPU's thread
    Real z[8], w[8];
    algebra_components(mul_dagger(staples, link), z);
    W_.load(block, mu, w);
    for (int i = 0; i < 8; ++i) w[i] = fma(Real(call_.a), z[i], Real(call_.b) * w[i]);
    W_.store(block, mu, w);
    out_.store(block, mu, exponential(algebra_element(w)) * link);
  }

 private:
  FlowStageCall call_;
  Gauge V_, out_;
  SiteArray<Layout, Storage, 8> W_;
};

template <class Layout, class Storage>
void launch_flow_stage(const FlowStageCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
