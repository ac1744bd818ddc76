#pragma once
/// The gauge action is a monomial.
#include "trellis/field/single_precision.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/update/monomial.hpp"

namespace trellis {

class GaugeMonomial : public Monomial {
 public:
  /// The force has the arithmetic `dynamics`, double or single precision; links, momenta and the action are
  /// in double in any case.
  GaugeMonomial(std::string name, const GaugeAction& S, Precision dynamics = Precision::double_precision);
  void refresh(const GaugeField&, const TrajectoryKey&) override {}
  double action(const GaugeField& U) override;
  void add_force(AlgebraField& force, const GaugeField& U, double coefficient) override;

 private:
  void add_single_force(AlgebraField& force, const GaugeField& U, double coefficient);
  GaugeAction S_;
  Precision dynamics_;
  ForceWorkspace workspace_;
  /// This belongs to forces in single precision.
  struct Single {
    SinglePrecisionMap map;
    GaugeField links;
    AlgebraField force;
    explicit Single(const GaugeField& U) : map{U}, links{map.make_single(U)}, force{links} {}
  };
  std::unique_ptr<Single> single_;
};

}  // namespace trellis
