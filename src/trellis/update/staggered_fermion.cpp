#include "trellis/update/staggered_fermion.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

void StaggeredSea::set_links(const GaugeField& V, int64_t version) {
  if (version == version_) return;
  if (links_)
    links_->update(V);
  else
    links_ = std::make_shared<StaggeredLinks>(V, KernelChoice{.link_reals = 12});
  version_ = version;
}

StaggeredFermion::StaggeredFermion(std::shared_ptr<StaggeredSea> sea, const StaggeredPhases& phases,
                                   double mass)
    : sea_{std::move(sea)}, phases_{phases}, mass_{mass} {
  TRELLIS_REQUIRE(mass != 0 && std::isfinite(mass), "staggered mass ", mass);
}

void StaggeredFermion::set_links(const GaugeField& V, int64_t version) {
  sea_->set_links(V, version);
  if (matrix_) return;  // it holds the shared links, which were updated in place
  matrix_ = std::make_shared<StaggeredMatrix>(sea_->links(), phases_, mass_);
  schur_ = std::make_shared<StaggeredSchur>(matrix_);
  derivative_ = std::make_unique<StaggeredLinkDerivative>(matrix_);
}

LinearOperatorPtr StaggeredFermion::op() const {
  TRELLIS_REQUIRE(schur_ != nullptr, "no links were set");
  return schur_;
}

/// The copies share links that are updated in place: they stay valid.
LinearOperatorPtr StaggeredFermion::converted_op(Precision precision) {
  LinearOperatorPtr& entry = converted_[precision];
  if (!entry) entry = op()->converted(precision);
  return entry;
}

void StaggeredFermion::add_derivative(LinkDerivative& G, const std::vector<const SpinorField*>& X,
                                      const std::vector<double>& c) {
  derivative_->add(G, nullptr, X, c);
}

double StaggeredFermion::derivative_flops(int fields) const { return derivative_->flops(fields); }
double StaggeredFermion::derivative_bytes(int fields) const { return derivative_->bytes(fields); }

}  // namespace trellis
