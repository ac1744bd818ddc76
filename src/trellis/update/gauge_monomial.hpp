#pragma once
/// The gauge action as a monomial.
#include "trellis/gauge/action.hpp"
#include "trellis/update/monomial.hpp"

namespace trellis {

class GaugeMonomial : public Monomial {
 public:
  GaugeMonomial(std::string name, const GaugeAction& S) : Monomial{std::move(name)}, S_{S} {}
  void refresh(const GaugeField&, const TrajectoryKey&) override {}
  double action(const GaugeField& U) override;
  void add_force(AlgebraField& force, const GaugeField& U, double coefficient) override;

 private:
  GaugeAction S_;
  ForceWorkspace workspace_;
};

}  // namespace trellis
