#include "trellis/update/smeared_links.hpp"

#include <cstring>

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/link_distance.hpp"
#include "trellis/kernels/gauge/smearing.hpp"
#include "trellis/kernels/gauge/stout_chain.hpp"

namespace trellis {

namespace {
/// Whether the inner links have the same bits; all ranks agree.
bool is_same(const GaugeField& U, const GaugeField& V) {
  if (!U.is_stored_like(V)) return false;
  if (U.backend() == Backend::cuda) {
    double largest = 0;
    dispatch_gauge(U, [&]<class Layout, class Storage>() {
      largest = launch_link_distance<Layout, Storage>(U.raw(), V.raw(), inner_sites(U));
    });
    return U.lattice().communicator().maximum(largest) == 0;
  }
  const size_t link_bytes = size_t(72) * size_t(U.lanes()) * sizeof(double);
  const char *u = static_cast<const char*>(U.raw().data), *v = static_cast<const char*>(V.raw().data);
  bool same = true;
  for (const int32_t block : U.layout().inner())
    if (std::memcmp(u + size_t(block) * link_bytes, v + size_t(block) * link_bytes, link_bytes) != 0) {
      same = false;
      break;
    }
  return !U.lattice().communicator().any(!same);
}
}  // namespace

const GaugeField& SmearedLinks::at(const GaugeField& U) {
  const PartTimer timer(costs_[Part::smearing]);
  if (version_ > 0 && is_same(chain_.thin_links(), U)) return chain_.links();
  chain_.set(U);
  const double volume = double(U.lattice().volume()) * chain_.levels();
  costs_[Part::smearing].flops += volume * stout_cost.flops;
  costs_[Part::smearing].bytes += volume * stout_cost.bytes;
  ++version_;
  return chain_.links();
}

void SmearedLinks::pull_back(LinkDerivative& G) {
  const PartTimer timer(costs_[Part::smearing]);
  chain_.pull_back(G);
  const double volume = double(G.lattice().volume()) * chain_.levels();
  costs_[Part::smearing].flops += volume * stout_chain_cost.flops;
  costs_[Part::smearing].bytes += volume * stout_chain_cost.bytes;
}

LinkDerivative& SmearedLinks::workspace() {
  const GaugeField& V = chain_.links();
  if (!workspace_ || !workspace_->is_stored_like(V)) workspace_ = std::make_unique<LinkDerivative>(V);
  workspace_->set_zero();
  return *workspace_;
}

}  // namespace trellis
