#include "trellis/update/staggered_fermion.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

void StaggeredSea::set_links(const GaugeField& V, int64_t version) {
  if (version == version_) return;
  if (links_ && links_->choice().backend == V.backend() && links_->lattice_ptr() == V.lattice_ptr())
    links_->update(V);
  else
    links_ = std::make_shared<StaggeredLinks>(V, KernelChoice{.link_reals = 12, .backend = V.backend()});
  version_ = version;
}

StaggeredSquare::StaggeredSquare(const char* action, const StaggeredPhases& phases, double mass)
    : phases_{phases}, mass_{mass} {
  TRELLIS_REQUIRE(mass != 0 && std::isfinite(mass), action, " mass ", mass);
}

void StaggeredSquare::set_shared_links(const StaggeredLinksPtr& links) {
  if (links == links_) return;
  links_ = links;
  converted_.clear();
  const auto matrix = std::make_shared<StaggeredMatrix>(links, phases_, mass_);
  schur_ = std::make_shared<StaggeredSchur>(matrix);
  derivative_ = std::make_unique<StaggeredLinkDerivative>(matrix);
}

LinearOperatorPtr StaggeredSquare::op() const {
  TRELLIS_REQUIRE(has_links(), "no links were set");
  return schur_;
}

LinearOperatorPtr StaggeredSquare::converted_op(Precision precision) {
  LinearOperatorPtr& entry = converted_[precision];
  if (!entry) entry = op()->converted(precision);
  return entry;
}

StaggeredLinkDerivative& StaggeredSquare::derivative() {
  TRELLIS_REQUIRE(has_links(), "no links were set");
  return *derivative_;
}

StaggeredFermion::StaggeredFermion(std::shared_ptr<StaggeredSea> sea, const StaggeredPhases& phases,
                                   double mass)
    : StaggeredSquare{"staggered", phases, mass}, sea_{std::move(sea)} {}

void StaggeredFermion::set_links(const GaugeField& V, int64_t version) {
  sea_->set_links(V, version);
  set_shared_links(sea_->links());
}

void StaggeredFermion::add_derivative(LinkDerivative& G, const std::vector<const SpinorField*>& X,
                                      const std::vector<double>& c) {
  derivative().add(G, nullptr, X, c);
}

}  // namespace trellis
