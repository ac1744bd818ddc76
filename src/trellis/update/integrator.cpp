#include "trellis/update/integrator.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/kernels/gauge/momentum.hpp"
#include "trellis/update/fermion_monomial.hpp"

namespace trellis {

Scheme scheme_of(const std::string& name) {
  if (name == "leapfrog") return Scheme::leapfrog;
  if (name == "omelyan2") return Scheme::omelyan2;
  if (name == "omelyan4") return Scheme::omelyan4;
  if (name == "force_gradient") return Scheme::force_gradient;
  throw BadArgument(
      message("integrator \"", name, "\": expected leapfrog, omelyan2, omelyan4 or force_gradient"));
}

Integrator::Integrator(std::vector<IntegratorLevel> levels)
    : levels_{std::move(levels)}, pending_(levels_.size(), 0.0) {
  TRELLIS_REQUIRE(!levels_.empty(), "an integrator has at least one level");
  for (const IntegratorLevel& level : levels_) {
    TRELLIS_REQUIRE(level.steps >= 1, "integrator steps: ", level.steps);
    TRELLIS_REQUIRE(!level.monomials.empty(), "a level of the integrator has no monomial");
    TRELLIS_REQUIRE(std::isfinite(level.lambda), "integrator lambda ", level.lambda);
  }
  reset_records();
}

void Integrator::reset_records() {
  forces_.clear();
  time_ = 0;
  failed_.clear();
  for (const IntegratorLevel& level : levels_) forces_.emplace_back(level.monomials.size());
}

void Integrator::run(GaugeField& U, AlgebraField& P, double length) {
  U_ = &U;
  P_ = &P;
  std::fill(pending_.begin(), pending_.end(), 0.0);  // they are left from a run that an error ended
  integrate(0, length);
  make_kicks();
  U_ = nullptr;
  P_ = nullptr;
}

void Integrator::integrate(size_t level, double length) {
  if (level == levels_.size()) return drift_links(length);
  const double h = length / levels_[level].steps;
  for (int k = 0; k < levels_[level].steps; ++k) step(level, h);
}

void Integrator::step(size_t level, double h) {
  switch (levels_[level].scheme) {
    case Scheme::leapfrog:
      kick(level, h / 2);
      integrate(level + 1, h);
      kick(level, h / 2);
      return;
    case Scheme::omelyan2: {
      const double lambda = levels_[level].lambda;
      kick(level, lambda * h);
      integrate(level + 1, h / 2);
      kick(level, (1 - 2 * lambda) * h);
      integrate(level + 1, h / 2);
      kick(level, lambda * h);
      return;
    }
    case Scheme::omelyan4: {
      constexpr double k0 = 0.08398315262876693, t0 = 0.2539785108410595, k1 = 0.6822365335719091,
                       t1 = -0.03230286765269967;
      const double kicks[6] = {k0, k1, 0.5 - k0 - k1, 0.5 - k0 - k1, k1, k0};
      const double drifts[5] = {t0, t1, 1 - 2 * (t0 + t1), t1, t0};
      for (int i = 0; i < 6; ++i) {
        kick(level, kicks[i] * h);
        if (i < 5) integrate(level + 1, drifts[i] * h);
      }
      return;
    }
    case Scheme::force_gradient:
      kick(level, h / 6);
      integrate(level + 1, h / 2);
      gradient_kick(level, 2 * h / 3, -h * h / 24);
      integrate(level + 1, h / 2);
      kick(level, h / 6);
      return;
  }
}

/// Computes P -= weight F for every level that has a kick to make.
void Integrator::make_kicks() {
  for (size_t level = 0; level < levels_.size(); ++level) {
    const double weight = pending_[level];
    pending_[level] = 0;
    if (weight != 0) add_level_force(*P_, level, *U_, -weight);
  }
}

/// Kicks with the force at exp(shift F) U, F being the level's own force: the commutator of the exact
/// integrator up to higher orders. It depends on the links alone, so it is reversible and keeps areas.
void Integrator::gradient_kick(size_t level, double weight, double shift) {
  AlgebraField F(*U_);
  add_level_force(F, level, *U_, 1.0);
  GaugeField moved = *U_;
  drift(moved, F, shift);
  add_level_force(*P_, level, moved, -weight);
}

void Integrator::add_level_force(AlgebraField& out, size_t level, const GaugeField& U, double coefficient) {
  failed_.guard(U, "force", [&] { sum_level_force(out, level, U, coefficient); });
}

/// Takes fermion monomials that share smeared links together, except where the size of a force is recorded.
void Integrator::sum_level_force(AlgebraField& out, size_t level, const GaugeField& U, double coefficient) {
  std::map<SmearedLinks*, std::vector<FermionMonomial*>> groups;
  std::vector<SmearedLinks*> order;
  for (size_t i = 0; i < levels_[level].monomials.size(); ++i) {
    Monomial& monomial = *levels_[level].monomials[i];
    monomial.set_time(time_);
    ForceRecord& record = forces_[level][i];
    if (record.evaluations++ == 0) {
      AlgebraField F(U);
      monomial.add_force(F, U, 1.0);
      record.size = force_size(F);
      add(out, coefficient, F);
    } else if (auto* fermion = dynamic_cast<FermionMonomial*>(&monomial)) {
      auto& group = groups[fermion->links().get()];
      if (group.empty()) order.push_back(fermion->links().get());
      group.push_back(fermion);
    } else {
      monomial.add_force(out, U, coefficient);
    }
  }
  for (SmearedLinks* links : order) add_forces(out, groups[links], U, coefficient);
}

void Integrator::drift_links(double length) {
  stop_together(U_->lattice().communicator());
  make_kicks();
  const PartTimer timer(costs_[Part::update]);
  costs_[Part::update].flops += double(U_->lattice().volume()) * drift_cost.flops;
  costs_[Part::update].bytes += double(U_->lattice().volume()) * drift_cost.bytes;
  drift(*U_, *P_, length);
  time_ += length;
}

}  // namespace trellis
