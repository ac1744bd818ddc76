#pragma once
/// Nested integrators solve dP/dt = -F, dU/dt = P U (J. C. Sexton and D. H. Weingarten, Nucl. Phys. B380
/// (1992) 665): the drift of a level is the next level's integration, that of the last is U <- exp(t P) U.
///
/// One step of length h, K = kick (of the level's monomials), T = drift:
///   leapfrog        K(1/2) T(1) K(1/2)
///   omelyan2        K(l) T(1/2) K(1 - 2l) T(1/2) K(l), l = 0.1931833275037836 unless given
///   omelyan4        eleven factors with five forces: 4MN5FV
///                   (both: I. P. Omelyan, I. M. Mryglod, R. Folk, Comput. Phys. Commun. 151 (2003) 272)
///   force_gradient  K(1/6) T(1/2) G(2/3) T(1/2) K(1/6), G a kick with the force at exp(-(h^2/24) F) U
///                   (S. A. Chin 1997; H. Yin and R. D. Mawhinney, arXiv:1111.5059)
///
/// Kicks commute: those of all levels that meet at the same links are made once, with the sum of their
/// weights.
#include <vector>

#include "trellis/gauge/force.hpp"
#include "trellis/update/failed_links.hpp"
#include "trellis/update/monomial.hpp"

namespace trellis {

enum class Scheme { leapfrog, omelyan2, omelyan4, force_gradient };
/// Returns the scheme of a name. Throws BadArgument for an unknown one, with the legal ones.
Scheme scheme_of(const std::string& name);

struct IntegratorLevel {
  Scheme scheme = Scheme::omelyan2;
  int steps = 1;  ///< each drift of the level before has so many; on the first level the trajectory has
  double lambda = 0.1931833275037836;  ///< omelyan2 takes it
  std::vector<MonomialPtr> monomials;
};

/// It says what was seen of a monomial's force at the first kick since the last reset.
struct ForceRecord {
  ForceSize size;
  int64_t evaluations = 0;
};

class Integrator {
 public:
  /// Takes the outermost level first. @pre every level has a monomial and at least one step
  explicit Integrator(std::vector<IntegratorLevel> levels);

  /// Integrates U and P over `length` (negative lengths run backwards). Collective.
  void run(GaugeField& U, AlgebraField& P, double length);

  const std::vector<IntegratorLevel>& levels() const { return levels_; }
  /// Returns [level][monomial].
  const std::vector<std::vector<ForceRecord>>& forces() const { return forces_; }
  void reset_records();
  PartCosts& costs() { return costs_; }
  /// Returns the links where a force failed since the last reset_records().
  FailedLinks& failed_links() { return failed_; }

 private:
  void integrate(size_t level, double length);
  void step(size_t level, double h);
  void kick(size_t level, double weight) { pending_[level] += weight; }
  void make_kicks();
  void gradient_kick(size_t level, double weight, double shift);
  void add_level_force(AlgebraField& out, size_t level, const GaugeField& U, double coefficient);
  void sum_level_force(AlgebraField& out, size_t level, const GaugeField& U, double coefficient);
  void drift_links(double length);

  std::vector<IntegratorLevel> levels_;
  std::vector<std::vector<ForceRecord>> forces_;
  std::vector<double> pending_;
  double time_ = 0;  ///< it passed since reset_records()
  PartCosts costs_;
  FailedLinks failed_;
  GaugeField* U_ = nullptr;
  AlgebraField* P_ = nullptr;
};

}  // namespace trellis
