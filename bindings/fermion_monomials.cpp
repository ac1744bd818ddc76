/// Python gets the monomials of sea quarks here.
#include "bindings.hpp"
#include "trellis/update/hisq_fermion.hpp"
#include "trellis/update/rational_monomial.hpp"
#include "trellis/update/staggered_fermion.hpp"
#include "trellis/update/two_flavour_monomial.hpp"
#include "trellis/update/wilson_fermion.hpp"

namespace trellis::bindings {

namespace {
/// It has constant, residues, shifts, tolerance and max_iterations.
using RationalTuple = std::tuple<double, std::vector<double>, std::vector<double>, double, int>;

RationalSolve to_solve(const RationalTuple& r) {
  const auto& [constant, residues, shifts, tolerance, max_iterations] = r;
  if (residues.size() != shifts.size()) throw BadArgument("a rational function has a residue for each shift");
  return {{constant, residues, shifts}, tolerance, max_iterations};
}
}  // namespace

void bind_fermion_monomials(nb::module_& m) {
  nb::class_<SmearedLinks>(m, "SmearedLinks")
      .def(
          "__init__",
          [](SmearedLinks* self, const StoutWeights& rho, int levels, const std::string& dynamics_precision) {
            new (self) SmearedLinks(rho, levels, precision_by_name(dynamics_precision));
          },
          "rho"_a, "levels"_a, "dynamics_precision"_a = "double");
  nb::class_<HisqSmearing, SmearedLinks>(m, "HisqSmearing")
      .def(nb::init<double>(), "cut"_a = HisqLinks::default_cut);
  nb::class_<StaggeredSea>(m, "StaggeredSea").def(nb::init<>());
  nb::class_<SquaredOperator>(m, "SquaredOperator");
  m.def(
      "staggered_fermion",
      [](std::shared_ptr<StaggeredSea> sea, double mass, const BoundaryPhases& boundary, double mu_over_ipiT,
         int charge_thirds, const std::array<int, 3>& b, const std::array<int, 3>& e) -> SquaredOperatorPtr {
        const StaggeredPhases phases{boundary, mu_over_ipiT, flux_of(charge_thirds, b, e)};
        return std::make_shared<StaggeredFermion>(sea, phases, mass);
      },
      "sea"_a, "mass"_a, "boundary"_a, "mu_over_ipiT"_a, "charge_thirds"_a, "b"_a, "e"_a);
  m.def(
      "hisq_fermion",
      [](std::shared_ptr<HisqSmearing> smearing, double mass, double epsilon, const BoundaryPhases& boundary,
         double mu_over_ipiT, int charge_thirds, const std::array<int, 3>& b,
         const std::array<int, 3>& e) -> SquaredOperatorPtr {
        const StaggeredPhases phases{boundary, mu_over_ipiT, flux_of(charge_thirds, b, e)};
        return std::make_shared<HisqFermion>(smearing, phases, mass, epsilon);
      },
      "smearing"_a, "mass"_a, "epsilon"_a, "boundary"_a, "mu_over_ipiT"_a, "charge_thirds"_a, "b"_a, "e"_a);
  m.def(
      "wilson_fermion",
      [](const WilsonParams& params) -> SquaredOperatorPtr {
        return std::make_shared<WilsonFermion>(params);
      },
      "params"_a);
  m.def(
      "wilson_fermion_with_multigrid",
      [](const WilsonParams& params, const MultigridParams& multigrid, double refresh) -> SquaredOperatorPtr {
        return std::make_shared<WilsonFermion>(params, FactorSolverParams{multigrid, refresh});
      },
      "params"_a, "multigrid"_a, "refresh"_a);
  m.def(
      "rational_monomial",
      [](const std::string& name, SmearedLinksPtr links, SquaredOperatorPtr fermion,
         const RationalTuple& heat_bath, const RationalTuple& dynamics, const RationalTuple& metropolis,
         int pseudofermions, uint32_t id, const std::string& dynamics_precision) -> MonomialPtr {
        RationalParams params{to_solve(heat_bath), to_solve(dynamics), to_solve(metropolis), pseudofermions,
                              id};
        params.dynamics.precision = precision_by_name(dynamics_precision);
        return std::make_shared<RationalMonomial>(name, links, fermion, params);
      },
      "name"_a, "links"_a, "fermion"_a, "heat_bath"_a, "dynamics"_a, "metropolis"_a, "pseudofermions"_a,
      "id"_a, "dynamics_precision"_a);
  m.def(
      "two_flavour_monomial",
      [](const std::string& name, SmearedLinksPtr links, SquaredOperatorPtr fermion, double shift,
         std::optional<double> numerator, double dynamics_tolerance, double metropolis_tolerance,
         int max_iterations, uint32_t id, const std::string& dynamics_precision) -> MonomialPtr {
        const TwoFlavourParams params{shift,
                                      numerator,
                                      dynamics_tolerance,
                                      metropolis_tolerance,
                                      max_iterations,
                                      id,
                                      precision_by_name(dynamics_precision)};
        return std::make_shared<TwoFlavourMonomial>(name, links, fermion, params);
      },
      "name"_a, "links"_a, "fermion"_a, "shift"_a, "numerator"_a, "dynamics_tolerance"_a,
      "metropolis_tolerance"_a, "max_iterations"_a, "id"_a, "dynamics_precision"_a);
  m.def(
      "clover_determinant_monomial",
      [](const std::string& name, SmearedLinksPtr links, const WilsonParams& params, double n_f)
          -> MonomialPtr { return std::make_shared<CloverDeterminantMonomial>(name, links, params, n_f); },
      "name"_a, "links"_a, "params"_a, "n_f"_a);
  m.def(
      "spectrum",
      [](SmearedLinks& links, SquaredOperator& fermion, const GaugeField& U, int steps, double accuracy,
         uint64_t seed) {
        const GaugeField& V = links.at(U);
        fermion.set_links(V, links.version());
        LanczosSteps lanczos;
        lanczos.least = steps;
        lanczos.accuracy = accuracy;
        const SpectrumEnds ends = lanczos_ends(*fermion.op(), lanczos, {seed, 0, 0});
        return std::pair(ends.smallest, ends.largest);
      },
      "links"_a, "fermion"_a, "U"_a, "steps"_a, "accuracy"_a, "seed"_a, release_gil());
}

}  // namespace trellis::bindings
