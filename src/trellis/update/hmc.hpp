#pragma once
/// This is hybrid Monte Carlo (S. Duane, A. D. Kennedy, B. J. Pendleton, D. Roweth, Phys. Lett. B195 (1987)
/// 216). The links after a trajectory are a function of the links before and of (seed, stream, trajectory):
/// they have the same bits for every process grid, thread count and lane count, and after any interruption.
#include <functional>

#include "trellis/update/integrator.hpp"

namespace trellis {

struct HmcParams {
  uint64_t seed = 0, stream = 0;
  double length = 1.0;  ///< a trajectory is so long
};

struct MonomialRecord {
  std::string name;
  double action_before = 0, action_after = 0;
  ForceSize force;  ///< it is that of the first kick of the trajectory
  int64_t force_evaluations = 0;
  SolveCount solves;
};

struct TrajectoryRecord {
  double dH = 0;  ///< it is H after minus H before
  bool is_accepted = false;
  bool is_valid = true;  ///< false says that the proposal was not covered, nothing was decided, and U is as
                         ///< it was
  double kinetic_before = 0, kinetic_after = 0;
  double random = 0;  ///< it is the uniform number of the accept step
  std::vector<MonomialRecord> monomials;
  int64_t guarded_links = 0;  ///< SmearedLinks::guarded_links() counted so many in the trajectory's forces
  PartCosts costs;
  double seconds = 0;
};

/// These are the largest differences of a link's matrix elements and of a momentum's components after a
/// trajectory and its reversal, and that of H.
struct Reversibility {
  double links = 0, momenta = 0, dH = 0;
};

class Hmc {
 public:
  /// @pre length is positive and finite
  Hmc(const HmcParams& params, std::vector<IntegratorLevel> levels);

  /// It says whether the approximations of the monomials hold on these links, too. Collective.
  using IsCovered = std::function<bool(const GaugeField&)>;

  /// Makes one trajectory, number `number` of the chain. Without `tests` it is always accepted
  /// (thermalisation). Before the accept step `is_covered` sees the proposed links: where it says no, H is
  /// not what it claims to be, and the trajectory is to be repeated with better monomials (record.is_valid).
  /// Throws NumericError if H is not finite, leaving U as it was. Collective.
  TrajectoryRecord trajectory(GaugeField& U, uint32_t number, bool tests = true,
                              const IsCovered& is_covered = nullptr);

  /// Integrates from U forth and back, with the momenta and pseudofermions of a trajectory; U stays.
  /// Collective.
  Reversibility reversibility(const GaugeField& U, uint32_t number);

  /// Returns the change of H along one trajectory, with the step sizes as they are, for tests and tuning; U
  /// stays.
  double energy_violation(const GaugeField& U, uint32_t number);

  const HmcParams& params() const { return params_; }
  Integrator& integrator() { return integrator_; }
  /// Says where the last call failed, if it did.
  const FailedLinks& failed_links() { return integrator_.failed_links(); }

 private:
  std::vector<MonomialPtr> monomials() const;
  void begin(const GaugeField& U, AlgebraField& P, uint32_t number);
  double hamiltonian(const GaugeField& U, const AlgebraField& P, TrajectoryRecord& record, bool is_after);
  HmcParams params_;
  Integrator integrator_;
};

/// Returns the uniform number of an accept step.
double metropolis_number(const HmcParams& params, uint32_t trajectory);

}  // namespace trellis
