/// For which shifts rho^2 does multigrid solve (S^dagger S + rho^2) x = b faster than conjugate gradients?
///
///     lab_multigrid_refresh_denominators FIELD KAPPA RHO...
#include <cstdlib>
#include <iostream>

#include "bench/thermal_field.hpp"
#include "trellis/base/clock.hpp"
#include "trellis/update/two_flavour_monomial.hpp"
#include "trellis/update/wilson_fermion.hpp"

using namespace trellis;

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: denominators FIELD KAPPA RHO...\n";
    return 2;
  }
  bench::ThermalField field;
  field.gauge = argv[1];
  const GaugeField U = field.get({16, 16, 16, 16});
  WilsonParams params;
  params.mass = 1 / (2 * std::atof(argv[2])) - 4;
  params.csw_spatial = params.csw_temporal = 1.769;
  FactorSolverParams solver;
  solver.largest_rho = 10;
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.1), 0);
  const std::shared_ptr<WilsonFermion> fermions[] = {std::make_shared<WilsonFermion>(params),
                                                     std::make_shared<WilsonFermion>(params, solver)};
  std::cout << "rho | way | iterations | seconds | Gflop\n";
  for (int i = 3; i < argc; ++i)
    for (const auto& fermion : fermions) {
      const double rho = std::atof(argv[i]);
      TwoFlavourParams p;
      p.shift = rho * rho;
      p.metropolis_tolerance = 1e-7;
      TwoFlavourMonomial monomial("light", links, fermion, p);
      monomial.refresh(U, {5, 0, 1});
      monomial.action(U);  // this comes with the set-up
      const SolveCount before = monomial.solve_count();
      const double flops = monomial.costs()[Part::solver].flops;
      const Stopwatch watch;
      monomial.action(U);
      std::cout << rho << " | " << (fermion == fermions[0] ? "cg" : "multigrid") << " | "
                << monomial.solve_count().iterations - before.iterations << " | " << watch.seconds() << " | "
                << (monomial.costs()[Part::solver].flops - flops) * 1e-9 << std::endl;
    }
  return 0;
}
