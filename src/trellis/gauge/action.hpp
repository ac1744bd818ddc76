#pragma once
/// The gauge action has 1x1 and 2x1 loops and a force (doc/conventions.md, Gauge action; Algebra).
#include <vector>

#include "trellis/field/algebra_field.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/gauge/plane_tables.hpp"

namespace trellis {

/// S = beta sum_x [ c0 sum_{mu<nu} (1 - Re tr P / 3) + c1 sum_{mu!=nu} (1 - Re tr R / 3) ], c0 = 1 - 8 c1.
struct GaugeAction {
  double beta = 6.0;
  double c1 = 0.0;

  double c0() const { return 1 - 8 * c1; }

  static GaugeAction wilson(double beta) { return {beta, 0.0}; }
  static GaugeAction symanzik(double beta) { return {beta, -1.0 / 12}; }  ///< this is the tree-level one
  static GaugeAction iwasaki(double beta) { return {beta, -0.331}; }
  static GaugeAction dbw2(double beta) { return {beta, -1.4088}; }
};

/// Returns the action. The sums are exact: the bits are the same however the lattice is cut. Collective.
double action(const GaugeAction& S, const GaugeField& U);

/// Adds: force += coefficient F, F_mu(x) = sum_a T_a d/dt S(e^{t T_a} U_mu(x)) = (beta/6) TA(sum of the
/// weighted loops that begin with U_mu(x)). A momentum changes by -F. Collective.
void add_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient = 1.0);

/// The force with 2x1 loops needs this beside fields on a CPU: slices of the six planes, scratch memory of
/// each thread. It is kept from call to call where many forces are needed.
struct ForceWorkspace {
  LatticePtr lattice;  ///< it is that of the links it was made for, with their lanes and halo
  int lanes = 0, width = 0;
  Backend backend{};
  std::deque<PlaneTables> planes;
  Memory scratch;
  size_t scratch_reals = 0;  ///< one thread has so many
  void prepare(const GaugeField& U);
};
void add_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient,
               ForceWorkspace& workspace);
AlgebraField force(const GaugeAction& S, const GaugeField& U);

}  // namespace trellis
