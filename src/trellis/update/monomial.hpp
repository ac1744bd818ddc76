#pragma once
/// A monomial is one term of the Hamiltonian besides the momenta.
#include <cstdint>
#include <memory>
#include <string>

#include "trellis/field/algebra_field.hpp"
#include "trellis/update/parts.hpp"

namespace trellis {

/// The random numbers of one trajectory depend on these.
struct TrajectoryKey {
  uint64_t seed = 0, stream = 0;
  uint32_t trajectory = 0;
};

/// It counts solves since the last reset.
struct SolveCount {
  int64_t solves = 0, iterations = 0;
  double largest_residual = 0;  ///< it is |b - A x| / |b| of true residuals
  /// Multigrid counts how often it was made from noise, improved by a sweep, and left to conjugate gradients.
  int64_t setups = 0, sweeps = 0, fallbacks = 0;
};

class Monomial {
 public:
  explicit Monomial(std::string name) : name_{std::move(name)} {}
  virtual ~Monomial() = default;
  const std::string& name() const { return name_; }

  /// Draws what stays fixed along a trajectory (pseudofermions), at the links where it begins. Collective.
  virtual void refresh(const GaugeField& U, const TrajectoryKey& key) = 0;
  /// Returns its value at U. Collective.
  virtual double action(const GaugeField& U) = 0;
  /// Computes force += coefficient F (doc/conventions.md). Collective.
  virtual void add_force(AlgebraField& force, const GaugeField& U, double coefficient) = 0;

  /// Sets the molecular-dynamics time of the links in forces and actions to come, from 0 at the trajectory's
  /// start.
  void set_time(double time) { time_ = time; }
  double time() const { return time_; }

  PartCosts& costs() { return costs_; }
  SolveCount& solve_count() { return solves_; }

 private:
  std::string name_;
  PartCosts costs_;
  SolveCount solves_;
  double time_ = 0;
};

using MonomialPtr = std::shared_ptr<Monomial>;

}  // namespace trellis
