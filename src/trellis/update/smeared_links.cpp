#include "trellis/update/smeared_links.hpp"

#include "trellis/field/storage/same_links.hpp"
#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/stout_chain.hpp"
#include "trellis/kernels/gauge/stout_smearing.hpp"

namespace trellis {

SmearedLinks::SmearedLinks(const StoutWeights& rho, int levels, Precision dynamics)
    : chain_{rho, levels}, dynamics_{dynamics} {
  TRELLIS_REQUIRE(!is_16_bit(dynamics), "smearing is in double or single precision, not ", name_of(dynamics));
}

/// Counts all levels of a pass, in the precision of its fields.
void SmearedLinks::count(const KernelCost& cost, double volume, Precision precision) {
  const double sites = volume * chain_.levels();
  costs_[Part::smearing].flops += sites * cost.flops;
  costs_[Part::smearing].bytes += sites * cost.bytes * double(element_bytes(precision)) / sizeof(double);
}

const GaugeField& SmearedLinks::at(const GaugeField& U) {
  const PartTimer timer(costs_[Part::smearing]);
  if (chain_version_ == 0 || !has_same_links(chain_.thin_links(), U)) {
    chain_.set(U);
    count(stout_cost, double(U.lattice().volume()), Precision::double_precision);
    chain_version_ = ++last_version_;
  }
  version_ = chain_version_;
  return *(current_ = &chain_.links());
}

const GaugeField& SmearedLinks::at_force(const GaugeField& U) {
  if (dynamics_ == Precision::double_precision || chain_.levels() == 0) return at(U);
  const PartTimer timer(costs_[Part::smearing]);
  if (!single_ || !single_->map.fits(U)) single_ = std::make_unique<Single>(U, chain_);
  Single& single = *single_;
  single.map.convert(single.thin, U);
  if (single.version == 0 || !has_same_links(single.chain.thin_links(), single.thin)) {
    single.chain.set(single.thin);
    single.map.convert(single.fat, single.chain.links());
    count(stout_cost, double(U.lattice().volume()), Precision::single_precision);
    single.version = ++last_version_;
  }
  version_ = single.version;
  return *(current_ = &single.fat);
}

void SmearedLinks::pull_back(LinkDerivative& G) {
  const PartTimer timer(costs_[Part::smearing]);
  if (single_ && current_ == &single_->fat) {
    single_->map.convert(single_->G, G);
    single_->chain.pull_back(single_->G);
    single_->map.convert(G, single_->G);
    count(stout_chain_cost, double(G.lattice().volume()), Precision::single_precision);
    return;
  }
  chain_.pull_back(G);
  count(stout_chain_cost, double(G.lattice().volume()), Precision::double_precision);
}

LinkDerivative& SmearedLinks::workspace() {
  TRELLIS_REQUIRE(current_ != nullptr, "no links were set");
  if (!workspace_ || !workspace_->is_stored_like(*current_))
    workspace_ = std::make_unique<LinkDerivative>(*current_);
  workspace_->set_zero();
  return *workspace_;
}

}  // namespace trellis
