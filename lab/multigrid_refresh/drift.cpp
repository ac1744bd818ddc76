/// This program finds out how much work a refresh of multigrid needs along a trajectory. Links move by the
/// gauge force, as they do in hybrid Monte Carlo. Each way of refreshing follows them, and solves M x = b for
/// the same b at each time.
///
///     lab_multigrid_refresh_drift FIELD KAPPA STEP STEPS
#include <cstdlib>
#include <iostream>

#include "bench/fields.hpp"
#include "bench/thermal_field.hpp"
#include "trellis/base/clock.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/gauge_monomial.hpp"

using namespace trellis;

namespace {

constexpr double tolerance = 1e-7;

struct Way {
  const char* name;
  bool is_sweep;       ///< from_vectors_of(1) makes P and D_c twice
  double improved;     ///< a refresh improves this part of the vectors
  bool stays = false;  ///< only smoother and residuals follow
  MultigridPtr multigrid = nullptr;
};

WilsonParams quark(double kappa) {
  WilsonParams p;
  p.mass = 1 / (2 * kappa) - 4;
  p.csw_spatial = p.csw_temporal = 1.769;
  return p;
}

void follow(Way& way, const WilsonOperator& M, const MultigridParams& params, int number) {
  MultigridSetup setup(*M.matrix(), params);
  if (way.stays) {
    way.multigrid = setup.with_coarse_space_of(*way.multigrid);
  } else if (way.is_sweep) {
    way.multigrid = setup.from_vectors_of(*way.multigrid, 1);
  } else {
    const int count = int(way.improved * params.vectors + 0.5);
    way.multigrid = setup.refreshed(*way.multigrid, {number * count % params.vectors, count});
  }
}

void report(const Way& way, double time, const WilsonOperator& M, double refresh_seconds) {
  OperatorCopies copies(M);
  copies.provide(way.multigrid->fine().pointer());
  SpinorField b = M.make_field(1), x = SpinorField::like(b);
  bench::fill(b);
  const SolveReport found =
      solve(MultigridSpec{.multigrid = way.multigrid, .tolerance = tolerance}, copies, x, b);
  const MultigridSetupReport& made = way.multigrid->report();
  std::cout << time << " | " << way.name << " | " << found.iterations << " | " << found.seconds << " | "
            << refresh_seconds << " | " << made.seconds_of_sweeps << " | "
            << made.seconds_of_orthonormalisation << " | " << made.seconds_of_coarse_operator << " | "
            << made.seconds_of_coarse_modes << " | " << found.cost.flops * 1e-9 << " | "
            << made.cost.flops * 1e-9 << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: drift FIELD KAPPA STEP STEPS\n";
    return 2;
  }
  bench::ThermalField field;
  field.gauge = argv[1];
  GaugeField U = field.get({16, 16, 16, 16});
  const WilsonParams params = quark(std::atof(argv[2]));
  const double step = std::atof(argv[3]);
  MultigridParams multigrid;
  std::vector<Way> ways{{"never", false, 0, true},       {"sweep", true, 1},
                        {"all, P once", false, 1},       {"half, P once", false, .5},
                        {"quarter, P once", false, .25}, {"none, P once", false, 0}};
  std::cout << "time | way | iterations | solve s | refresh s | sweep | orthonormalisation | D_c | modes | "
               "solve Gflop | "
               "refresh Gflop\n";
  {
    const WilsonOperator M(U, params);
    const MultigridPtr first = Multigrid::make(M, multigrid);
    for (Way& way : ways) way.multigrid = first;
    report(ways[0], 0, M, first->report().seconds);
  }
  const auto gauge = std::make_shared<GaugeMonomial>("gauge", GaugeAction::wilson(6.0));
  AlgebraField P(U);
  set_random_momenta(P, 77, 0, 1);
  constexpr int small_steps = 8;
  for (int k = 1; k <= std::atoi(argv[4]); ++k) {
    const double h = step / small_steps;
    for (int i = 0; i < small_steps; ++i) {
      drift(U, P, 0.5 * h);
      AlgebraField F(U);
      gauge->add_force(F, U, 1.0);
      add(P, -h, F);
      drift(U, P, 0.5 * h);
    }
    const WilsonOperator M(U, params);
    for (Way& way : ways) {
      const Stopwatch watch;
      follow(way, M, multigrid, k);
      report(way, k * step, M, watch.seconds());
    }
  }
  return 0;
}
