#include "trellis/operator/even_twist.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/site_diagonal.hpp"

namespace trellis {

namespace {
constexpr int even = 0;
}

EvenTwist::EvenTwist(std::shared_ptr<const WilsonOperator> M, double rho) : M_{std::move(M)}, rho_{rho} {
  TRELLIS_REQUIRE(M_ != nullptr && std::isfinite(rho), "the even sites of a Wilson operator are twisted by ",
                  rho);
}

void EvenTwist::multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const {
  auto found = work_.find(in.rhs());
  if (found == work_.end()) found = work_.emplace(in.rhs(), make_field(in.rhs())).first;
  SpinorField& twisted = found->second;
  is_dagger ? M_->apply_dagger(out, in) : M_->apply(out, in);
  multiply_site_diagonal(twisted, in, even, nullptr, {0, is_dagger ? -rho_ : rho_},
                         SiteRange(in.layout().blocks(even)));
  combine(out, 1.0, out, 1.0, twisted);
}

Cost EvenTwist::cost(int columns) const {
  const FieldSpec spec = domain(columns);
  Cost cost = M_->cost(columns);
  // The passes go over half of the sites, and over all of them.
  cost += cost_of_passes(*domain_lattice(), spec, 4, 2.5, 1, 0);
  cost.launches += 1;
  return cost;
}

LinearOperatorPtr EvenTwist::converted(Precision precision) const {
  return std::make_shared<EvenTwist>(
      std::dynamic_pointer_cast<const WilsonOperator>(M_->converted(precision)), rho_);
}

std::string EvenTwist::name() const { return M_->name() + " with twisted even sites"; }

}  // namespace trellis
