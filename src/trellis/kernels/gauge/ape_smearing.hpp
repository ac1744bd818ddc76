#pragma once
/// Old links give APE links (another field):
///
///   U' = P[(1 - alpha) U + weight sum_nu (staples in the plane)]
///
/// A link takes the flops of its sum of staples and 54, without the projection, whose number of rotations
/// depends on the links.
#include "trellis/kernels/gauge/staples.hpp"

namespace trellis {

/// It says how a sum of matrices is brought back to SU(3).
enum class Su3Projection {
  maximal_trace,  ///< it takes the SU(3) matrix W with the largest Re tr(W A^dagger)
  gram_schmidt  ///< it takes Gram and Schmidt on the rows: not covariant under transformations from the right
};

struct ApeCall {
  GaugeCall gauge;
  RawField out;
  double keep = 1, weight = 0;  ///< they belong to the link and to each staple
  int directions = 4;  ///< with 3 these are spatial links and staples only, temporal links are copied
  Su3Projection projection = Su3Projection::maximal_trace;
};

template <class Layout, class Storage>
class ApeSmearing {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit ApeSmearing(const ApeCall& call)
      : call_{call}, U_{call.gauge.links, call.gauge.tables}, out_{call.out, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      auto link = U_.link(x, mu);
      if (mu < call_.directions) {
        auto C = zero_matrix<Real>();
        for (int nu = 0; nu < call_.directions; ++nu)
          if (nu != mu) C = C + plane_staples(U_, x, mu, nu);
        link = Real(call_.keep) * link + Real(call_.weight) * C;
        if (call_.projection == Su3Projection::maximal_trace)
          link = nearest_su3(link);
        else
          reunitarise(link);
      }
      out_.store(block, mu, link);
    }
  }

 private:
  ApeCall call_;
  Gauge U_, out_;
};

template <class Layout, class Storage>
void launch_ape_smearing(const ApeCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
