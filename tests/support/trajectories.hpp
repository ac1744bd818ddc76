#pragma once
/// Tests compare these whole trajectories with quarks between backends.
#include <functional>
#include <vector>

#include "trellis/gauge/action.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/hisq_fermion.hpp"
#include "trellis/update/hmc.hpp"
#include "trellis/update/rational_monomial.hpp"
#include "trellis/update/staggered_fermion.hpp"
#include "trellis/update/two_flavour_monomial.hpp"
#include "trellis/update/wilson_fermion.hpp"

namespace trellis::test {

/// Each function makes its monomials anew, with smeared links of their own.
using Quarks = std::function<std::vector<MonomialPtr>()>;

/// Returns a rational function of a few poles; no root of an operator is asked of it here.
inline RationalParams few_poles(uint32_t id) {
  const RationalFunction r{0.3, {0.5, 1.1}, {0.05, 2.5}};
  return {{{0.4, {0.6}, {0.3}}, 1e-10}, {r, 1e-8}, {r, 1e-10}, 1, id};
}

inline std::vector<MonomialPtr> stout_staggered_2_plus_1() {
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.15), 2);
  const auto sea = std::make_shared<StaggeredSea>();
  std::vector<MonomialPtr> quarks;
  for (const double mass : {0.4, 0.9})
    quarks.push_back(std::make_shared<RationalMonomial>(
        "quark", links, std::make_shared<StaggeredFermion>(sea, StaggeredPhases{}, mass),
        few_poles(uint32_t(quarks.size()))));
  return quarks;
}

inline std::vector<MonomialPtr> hisq_2_plus_1() {
  const auto links = std::make_shared<HisqSmearing>();
  std::vector<MonomialPtr> quarks;
  for (const double epsilon : {0.0, -0.3})
    quarks.push_back(std::make_shared<RationalMonomial>(
        "quark", links, std::make_shared<HisqFermion>(links, StaggeredPhases{}, 0.4 - epsilon, epsilon),
        few_poles(uint32_t(quarks.size()))));
  return quarks;
}

/// Returns two flavours with a clover term, split by a Hasenbusch shift; with or without a twisted mass.
inline std::vector<MonomialPtr> two_clover_flavours(double twisted_mass) {
  WilsonParams params;
  params.mass = 0.3;
  params.csw_spatial = params.csw_temporal = 1.0;
  params.twisted_mass = twisted_mass;
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.1), 1);
  std::vector<MonomialPtr> quarks;
  quarks.push_back(std::make_shared<CloverDeterminantMonomial>("determinant", links, params, 2));
  for (const bool is_ratio : {false, true}) {
    TwoFlavourParams flavours;
    if (is_ratio)
      flavours.numerator = 0.5;
    else
      flavours.shift = 0.5;
    flavours.id = is_ratio;
    quarks.push_back(std::make_shared<TwoFlavourMonomial>(is_ratio ? "ratio" : "shifted", links,
                                                          std::make_shared<WilsonFermion>(params), flavours));
  }
  return quarks;
}

inline Hmc short_trajectories(const Quarks& quarks) {
  const auto glue = std::make_shared<GaugeMonomial>("glue", GaugeAction::symanzik(6.0));
  IntegratorLevel outer{Scheme::omelyan2, 1, 0.1931833275037836, quarks()};
  IntegratorLevel inner{Scheme::omelyan2, 2, 0.1931833275037836, {glue}};
  return Hmc({7, 0, 0.1}, {outer, inner});
}

/// Returns what of a trajectory does not depend on clocks: plaquette, dH, kinetic energies, actions and
/// forces.
inline std::vector<double> numbers_of(const GaugeField& U, const TrajectoryRecord& record) {
  std::vector<double> all{measure_loops(U).plaquette, record.dH, record.kinetic_before, record.kinetic_after};
  for (const MonomialRecord& m : record.monomials)
    all.insert(all.end(),
               {m.action_before, m.action_after, m.force.mean, m.force.largest, double(m.solves.iterations)});
  return all;
}

}  // namespace trellis::test
