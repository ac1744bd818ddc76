#include "trellis/update/hmc.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "trellis/algebra/random.hpp"
#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/fermion_monomial.hpp"

namespace trellis {

namespace {
/// Returns the largest |a - b| of two arrays of all ranks.
double largest_difference(Communicator& communicator, const std::vector<double>& a,
                          const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return communicator.maximum(largest);
}

std::vector<double> canonical(const GaugeField& U) {
  std::vector<double> x(U.canonical_size());
  U.to_canonical(x.data());
  return x;
}
std::vector<double> canonical(const AlgebraField& P) {
  std::vector<double> x(size_t(P.lattice().geometry().local_volume()) * 32);
  P.to_canonical(x.data());
  return x;
}
}  // namespace

Hmc::Hmc(const HmcParams& params, std::vector<IntegratorLevel> levels)
    : params_{params}, integrator_{std::move(levels)} {
  TRELLIS_REQUIRE(params.length > 0 && std::isfinite(params.length), "trajectory length ", params.length);
}

std::vector<MonomialPtr> Hmc::monomials() const {
  std::vector<MonomialPtr> all;
  for (const IntegratorLevel& level : integrator_.levels())
    all.insert(all.end(), level.monomials.begin(), level.monomials.end());
  return all;
}

double metropolis_number(const HmcParams& params, uint32_t trajectory) {
  const SiteRandom<double> random(random_key(params.seed, params.stream), RandomPurpose::metropolis,
                                  trajectory, 0);
  return random.uniform_pair(0)[0];
}

void Hmc::begin(const GaugeField& U, AlgebraField& P, uint32_t number) {
  set_random_momenta(P, params_.seed, params_.stream, number);
  integrator_.reset_records();
  integrator_.costs() = PartCosts{};
  for (const MonomialPtr& monomial : monomials()) {
    monomial->costs() = PartCosts{};
    monomial->solve_count() = SolveCount{};
    if (const auto* fermion = dynamic_cast<FermionMonomial*>(monomial.get())) {
      fermion->links()->costs() = PartCosts{};
      fermion->links()->guarded_links() = 0;
    }
  }
  integrator_.failed_links().guard(U, "heat bath", [&] {
    for (const MonomialPtr& monomial : monomials())
      monomial->refresh(U, {params_.seed, params_.stream, number});
  });
}

double Hmc::hamiltonian(const GaugeField& U, const AlgebraField& P, TrajectoryRecord& record, bool is_after) {
  const double kinetic = kinetic_energy(P);
  (is_after ? record.kinetic_after : record.kinetic_before) = kinetic;
  double H = kinetic;
  const std::vector<MonomialPtr> all = monomials();
  record.monomials.resize(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const double value = integrator_.failed_links().guard(U, "action", [&] { return all[i]->action(U); });
    (is_after ? record.monomials[i].action_after : record.monomials[i].action_before) = value;
    H += value;
  }
  return H;
}

TrajectoryRecord Hmc::trajectory(GaugeField& U, uint32_t number, bool tests, const IsCovered& is_covered) {
  const Stopwatch watch;
  TrajectoryRecord record;
  AlgebraField P(U);
  begin(U, P, number);
  hamiltonian(U, P, record, false);
  GaugeField V = U;
  integrator_.run(V, P, params_.length);
  hamiltonian(V, P, record, true);
  record.dH = record.kinetic_after - record.kinetic_before;
  for (const MonomialRecord& m : record.monomials) record.dH += m.action_after - m.action_before;
  integrator_.failed_links().guard(V, "action", [&] {
    if (!std::isfinite(record.dH))
      throw NumericError(message("the Hamiltonian is not finite after trajectory ", number,
                                 ": the step sizes are too large for this field"));
  });
  record.random = metropolis_number(params_, number);
  reunitarise_links(
      V);  // this comes before it is looked at: what is checked is what the next trajectory begins with
  record.is_valid = !is_covered || is_covered(V);
  record.is_accepted = record.is_valid && (!tests || record.random < std::exp(-record.dH));
  if (record.is_accepted) U = std::move(V);
  record.costs.add(integrator_.costs());
  std::set<SmearedLinks*> smearings;
  size_t at = 0;
  for (size_t level = 0; level < integrator_.levels().size(); ++level)
    for (size_t i = 0; i < integrator_.levels()[level].monomials.size(); ++i, ++at) {
      Monomial& monomial = *integrator_.levels()[level].monomials[i];
      MonomialRecord& out = record.monomials[at];
      out.name = monomial.name();
      out.force = integrator_.forces()[level][i].size;
      out.force_evaluations = integrator_.forces()[level][i].evaluations;
      out.solves = monomial.solve_count();
      record.costs.add(monomial.costs());
      if (const auto* fermion = dynamic_cast<FermionMonomial*>(&monomial))
        if (smearings.insert(fermion->links().get()).second) {
          record.costs.add(fermion->links()->costs());
          record.guarded_links += fermion->links()->guarded_links();
        }
    }
  record.seconds = watch.seconds();
  return record;
}

double Hmc::energy_violation(const GaugeField& U, uint32_t number) {
  TrajectoryRecord record;
  AlgebraField P(U);
  begin(U, P, number);
  GaugeField V = U;
  const double before = hamiltonian(V, P, record, false);
  integrator_.run(V, P, params_.length);
  return hamiltonian(V, P, record, true) - before;
}

Reversibility Hmc::reversibility(const GaugeField& U, uint32_t number) {
  TrajectoryRecord record;
  AlgebraField P(U);
  begin(U, P, number);
  GaugeField V = U;
  const std::vector<double> momenta = canonical(P);
  const double before = hamiltonian(V, P, record, false);
  integrator_.run(V, P, params_.length);
  integrator_.run(V, P, -params_.length);
  const double after = hamiltonian(V, P, record, true);
  Communicator& communicator = U.lattice().communicator();
  return {largest_difference(communicator, canonical(V), canonical(U)),
          largest_difference(communicator, canonical(P), momenta), after - before};
}

}  // namespace trellis
