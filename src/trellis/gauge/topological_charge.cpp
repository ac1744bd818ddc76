#include "trellis/gauge/topological_charge.hpp"

#include <numbers>

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/kernels/gauge/field_strength.hpp"

namespace trellis {

namespace {
struct EnergyAndCharge {
  double energy, charge;  ///< one is a mean over sites, one a sum
};

EnergyAndCharge energy_and_charge(const GaugeField& U, LeafShape shape) {
  require_all_directions(U.geometry(), "the field strength (energy density, topological charge)");
  ExactSum sums[2];
  const GaugeCall call = gauge_call(U);
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_field_strength_sum<Layout, Storage>(call, shape, inner_sites(U), sums);
  });
  U.lattice().communicator().sum(sums, 2);
  constexpr double four_pi_squared = 4 * std::numbers::pi * std::numbers::pi;
  return {sums[0].value() / double(U.lattice().volume()), sums[1].value() / four_pi_squared};
}
}  // namespace

double energy_density_clover(const GaugeField& U) { return energy_and_charge(U, LeafShape::clover).energy; }

double energy_density_plaquette(const GaugeField& U) {
  require_all_directions(U.geometry(), "the energy density");
  return 36 * (1 - plaquette(U));
}

double topological_charge(const GaugeField& U, ChargeDefinition definition) {
  if (definition == ChargeDefinition::plaquette) return energy_and_charge(U, LeafShape::plaquette).charge;
  const double clover = energy_and_charge(U, LeafShape::clover).charge;
  if (definition == ChargeDefinition::clover) return clover;
  return 5.0 / 3 * clover - 1.0 / 6 * energy_and_charge(U, LeafShape::rectangle).charge;
}

}  // namespace trellis
