#include "trellis/update/gauge_monomial.hpp"

#include "trellis/kernels/gauge/action.hpp"
#include "trellis/kernels/gauge/loops.hpp"
#include "trellis/kernels/gauge/rectangle_force.hpp"

namespace trellis {

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
  costs()[Part::gauge_force].bytes += double(U.lattice().volume()) * cost.bytes;
  trellis::add_force(force, S_, U, coefficient, workspace_);
}

}  // namespace trellis
