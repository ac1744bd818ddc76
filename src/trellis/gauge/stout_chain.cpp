#include "trellis/gauge/stout_chain.hpp"

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/stout_chain.hpp"

namespace trellis {

StoutChain::StoutChain(const StoutWeights& rho, int levels) : rho_{rho}, levels_{levels} {
  TRELLIS_REQUIRE(levels >= 0, "stout levels: ", levels);
}

void StoutChain::set(const GaugeField& U) {
  const bool is_new = fields_.empty() || fields_.front().lattice_ptr() != U.lattice_ptr() ||
                      !fields_.front().is_stored_like(U);
  if (is_new) {
    work_.clear();
    staples_.clear();
    fields_.assign(size_t(levels_) + 1, U);
    while (staples_.size() < size_t(levels_)) staples_.emplace_back(U);
  } else {
    fields_.front() = U;
  }
  for (size_t level = 0; level < size_t(levels_); ++level)
    stout_level(fields_[level + 1], fields_[level], rho_, &staples_[level]);
}

void StoutChain::pull_back(LinkDerivative& G) {
  TRELLIS_REQUIRE(!fields_.empty(), "no links were set");
  if (levels_ == 0) return;
  TRELLIS_REQUIRE(G.is_stored_like(links()), "derivative and links have different site orders");
  while (work_.size() < 2) work_.emplace_back(fields_.front());
  LinkDerivative &X = work_[0], &Z = work_[1];
  StoutChainCall call;
  call.derivative = G.raw();
  call.X = X.raw();
  call.Z = Z.raw();
  for (size_t mu = 0; mu < Nd; ++mu)
    for (size_t nu = 0; nu < Nd; ++nu) call.rho[mu][nu] = rho_[mu][nu];
  for (int level = levels_ - 1; level >= 0; --level) {
    const GaugeField& U = fields_[size_t(level)];
    call.gauge = gauge_call(U, 1);
    call.staples = staples_[size_t(level)].raw();
    const SiteRange sites = inner_sites(U);
    dispatch_gauge_precision(
        U, [&]<class Layout, class Storage>() { launch_stout_chain_link<Layout, Storage>(call, sites); });
    X.halo_is_stale();
    X.update_halo(1);
    dispatch_gauge_precision(
        U, [&]<class Layout, class Storage>() { launch_stout_chain_staples<Layout, Storage>(call, sites); });
  }
  G.halo_is_stale();
}

}  // namespace trellis
