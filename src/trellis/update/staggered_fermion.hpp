#pragma once
/// Rational actions take the even-odd staggered operator m^2 - D_eo D_oe from here.
#include <map>
#include <memory>

#include "trellis/operator/staggered_derivative.hpp"
#include "trellis/update/squared_operator.hpp"

namespace trellis {

/// It holds the operator's links, which all flavours on the same smeared links share, where these lie.
class StaggeredSea {
 public:
  /// @pre the first call comes before any flavour is asked for its operator. Collective.
  void set_links(const GaugeField& V, int64_t version);
  StaggeredLinksPtr links() const { return links_; }

 private:
  std::shared_ptr<StaggeredLinks> links_;
  int64_t version_ = -1;
};

/// It is the part that all staggered flavours have, with simple links or fat and long ones. Its operators
/// share links that are updated in place, so they and their copies stay valid.
class StaggeredSquare : public SquaredOperator {
 public:
  /// @pre mass != 0; messages name `action`
  StaggeredSquare(const char* action, const StaggeredPhases& phases, double mass);
  LinearOperatorPtr op() const override;
  LinearOperatorPtr converted_op(Precision precision) override;
  double derivative_flops(int fields) const override { return derivative_->flops(fields); }
  double derivative_bytes(int fields) const override { return derivative_->bytes(fields); }

 protected:
  bool has_links() const { return schur_ != nullptr; }
  /// Links that were set before are not set again: they are updated in place.
  void set_shared_links(const StaggeredLinksPtr& links);
  StaggeredLinkDerivative& derivative();

 private:
  StaggeredPhases phases_;
  double mass_;
  StaggeredLinksPtr links_;
  std::shared_ptr<StaggeredSchur> schur_;
  std::unique_ptr<StaggeredLinkDerivative> derivative_;
  std::map<Precision, LinearOperatorPtr> converted_;
};

class StaggeredFermion : public StaggeredSquare {
 public:
  /// @pre mass != 0
  StaggeredFermion(std::shared_ptr<StaggeredSea> sea, const StaggeredPhases& phases, double mass);
  void set_links(const GaugeField& V, int64_t version) override;
  void add_derivative(LinkDerivative& G, const std::vector<const SpinorField*>& X,
                      const std::vector<double>& c) override;

 private:
  std::shared_ptr<StaggeredSea> sea_;
};

}  // namespace trellis
