#include "trellis/update/gauge_monomial.hpp"

#include "trellis/base/error.hpp"
#include "trellis/kernels/gauge/action.hpp"
#include "trellis/kernels/gauge/loops.hpp"
#include "trellis/kernels/gauge/rectangle_force.hpp"

namespace trellis {

GaugeMonomial::GaugeMonomial(std::string name, const GaugeAction& S, Precision dynamics)
    : Monomial{std::move(name)}, S_{S}, dynamics_{dynamics} {
  TRELLIS_REQUIRE(!is_16_bit(dynamics), "forces are in double or single precision, not ", name_of(dynamics));
}

double GaugeMonomial::action(const GaugeField& U) {
  const PartTimer timer(costs()[Part::action]);
  const double volume = double(U.lattice().volume());
  costs()[Part::action].flops += volume * (plaquette_cost.flops + (S_.c1 != 0 ? rectangle_cost.flops : 0));
  costs()[Part::action].bytes += volume * (plaquette_cost.bytes + (S_.c1 != 0 ? rectangle_cost.bytes : 0));
  return trellis::action(S_, U);
}

void GaugeMonomial::add_force(AlgebraField& force, const GaugeField& U, double coefficient) {
  const PartTimer timer(costs()[Part::gauge_force]);
  const KernelCost cost = S_.c1 == 0 ? plaquette_force_cost : slice_force_cost;
  costs()[Part::gauge_force].flops += double(U.lattice().volume()) * cost.flops;
  costs()[Part::gauge_force].bytes +=
      double(U.lattice().volume()) * cost.bytes * double(element_bytes(dynamics_)) / sizeof(double);
  if (dynamics_ == Precision::single_precision)
    add_single_force(force, U, coefficient);
  else
    trellis::add_force(force, S_, U, coefficient, workspace_);
}

void GaugeMonomial::add_single_force(AlgebraField& force, const GaugeField& U, double coefficient) {
  if (!single_ || !single_->map.fits(U)) single_ = std::make_unique<Single>(U);
  single_->map.convert(single_->links, U);
  single_->force.set_zero();
  trellis::add_force(single_->force, S_, single_->links, coefficient, workspace_);
  single_->map.add(force, single_->force);
}

}  // namespace trellis
