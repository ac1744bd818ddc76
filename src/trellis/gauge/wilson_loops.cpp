#include "trellis/gauge/wilson_loops.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/wilson_loops.hpp"

namespace trellis {

LoopPlanes loop_planes_of(const std::string& name) {
  if (name == "temporal") return LoopPlanes::temporal;
  if (name == "spatial") return LoopPlanes::spatial;
  if (name == "all") return LoopPlanes::all;
  throw BadArgument(message("planes of Wilson loops \"", name, "\": expected temporal, spatial or all"));
}

namespace {
/// Returns the mu that go with nu.
std::vector<int> partners(int nu, LoopPlanes planes) {
  std::vector<int> mus;
  if (planes == LoopPlanes::temporal && nu != 3) return mus;
  if (planes == LoopPlanes::spatial && nu == 3) return mus;
  const int end = planes == LoopPlanes::all ? Nd : 3;
  for (int mu = 0; mu < end; ++mu)
    if (mu != nu) mus.push_back(mu);
  return mus;
}

/// Sums the loops of one nu and some mu.
class LoopBuilder {
 public:
  LoopBuilder(const GaugeField& U, int nu, std::vector<int> mus)
      : U_{U}, nu_{nu}, mus_{std::move(mus)}, line_{U}, P_{U}, spare_{U} {}

  /// Adds the traces of this rank: sums[R - 1][T - 1] += them.
  void add(std::vector<std::vector<ExactSum>>& sums) {
    const size_t R_end = sums.size(), T_end = sums.front().size();
    std::vector<GaugeField> Q(1, U_);  // Q[R] has at T first T links in nu, then R in mu
    for (size_t R = 1; R < R_end; ++R) {
      Q.push_back(U_);
      transport(Q[R], Q[R - 1], [](int mu) { return TransportStep{mu, mu, mu, mu}; });
    }
    for (size_t T = 0; T < T_end; ++T) {
      stop_together(U_.lattice().communicator());
      if (T > 0) {
        transport_one(spare_, line_, {nu_, nu_, nu_, nu_});
        std::swap(spare_, line_);
      }
      for (size_t R = 0; R < R_end; ++R) {
        const int nu = nu_;
        transport(spare_, Q[R], [nu](int mu) { return TransportStep{mu, nu, mu, nu}; });
        std::swap(spare_, Q[R]);
        if (R == 0)
          transport(P_, line_, [nu](int mu) { return TransportStep{mu, mu, nu, mu}; });
        else {
          transport(spare_, P_, [](int mu) { return TransportStep{mu, mu, mu, mu}; });
          std::swap(spare_, P_);
        }
        trace(P_, Q[R], sums[R][T]);
      }
    }
  }

 private:
  /// Computes out[slot](x) = U[left](x) in[right](x + mu).
  template <class F>
  void transport(GaugeField& out, const GaugeField& in, const F& step_of) const {
    TransportCall call = prepared(out, in);
    for (const int mu : mus_) call.steps[size_t(call.count++)] = step_of(mu);
    run(out, call);
  }
  void transport_one(GaugeField& out, const GaugeField& in, const TransportStep& step) const {
    TransportCall call = prepared(out, in);
    call.steps[size_t(call.count++)] = step;
    run(out, call);
  }
  TransportCall prepared(GaugeField& out, const GaugeField& in) const {
    TransportCall call;
    in.update_halo(1);
    call.left = U_.raw();
    call.right = in.raw();
    call.out = out.raw();
    call.tables = U_.tables();
    return call;
  }
  void run(GaugeField& out, const TransportCall& call) const {
    dispatch_gauge(
        U_, [&]<class Layout, class Storage>() { launch_transport<Layout, Storage>(call, inner_sites(U_)); });
    out.halo_is_stale();
  }
  void trace(const GaugeField& left, const GaugeField& right, ExactSum& sum) const {
    LoopTraceCall call;
    call.left = left.raw();
    call.right = right.raw();
    call.tables = U_.tables();
    for (const int mu : mus_) call.slots[size_t(call.count++)] = {mu, mu};
    dispatch_gauge(U_, [&]<class Layout, class Storage>() {
      launch_loop_trace<Layout, Storage>(call, inner_sites(U_), &sum);
    });
  }

  const GaugeField& U_;
  int nu_;
  std::vector<int> mus_;
  GaugeField line_;  ///< slot nu has T links in nu
  GaugeField P_, spare_;
};
}  // namespace

std::vector<std::vector<double>> wilson_loops(const GaugeField& U, int spatial_extent, int temporal_extent,
                                              LoopPlanes planes) {
  TRELLIS_REQUIRE(spatial_extent >= 1 && temporal_extent >= 1, "Wilson loops up to ", spatial_extent, " x ",
                  temporal_extent);
  require_all_directions(U.geometry(), "Wilson loops");
  const std::vector<ExactSum> row(static_cast<size_t>(temporal_extent));
  std::vector<std::vector<ExactSum>> sums(static_cast<size_t>(spatial_extent), row);
  int count = 0;
  for (int nu = 0; nu < Nd; ++nu) {
    const std::vector<int> mus = partners(nu, planes);
    if (mus.empty()) continue;
    count += int(mus.size());
    LoopBuilder(U, nu, mus).add(sums);
  }
  std::vector<std::vector<double>> W(sums.size());
  for (size_t R = 0; R < sums.size(); ++R) {
    U.lattice().communicator().sum(sums[R].data(), int(sums[R].size()));
    for (const ExactSum& sum : sums[R]) W[R].push_back(sum.value() / (count * double(U.lattice().volume())));
  }
  return W;
}

}  // namespace trellis
