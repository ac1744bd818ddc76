#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/multigrid/sweep_rule.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

/// A coarse solve takes so many iterations, to the tolerances of a set-up and of a solve.
constexpr int coarse_iterations_in_setup = 8, coarse_iterations_in_solves = 16;
/// GCR has kept so many vectors on average, of the ten between restarts.
constexpr int kept_vectors = 5;

Cost flops_and_bytes(const Cost& cost) { return cost_of(cost.flops, cost.bytes); }

/// A coarse iteration multiplies by nine matrices on each site, and two more on half of them.
Cost cost_of_coarse_iteration(double sites, int vectors, double real) {
  const double matrix = 4.0 * vectors * vectors * sites * 10;
  return cost_of(8 * matrix, 2 * real * matrix);
}

}  // namespace

MultigridForecast MultigridSetup::forecast(int sweeps) const {
  const Lattice& fine = *operator_->domain_lattice();
  const double sites = double(fine.volume()), coarse = sites / double(product(params_.block));
  const double real = double(element_bytes(params_.storage)), n = params_.vectors;
  const auto smoothed = [&](int smoothing, Precision storage) {
    SpinorField b = operator_->make_field(1), x = SpinorField::like(b);
    fill_with_noise(b, params_.seed, 0, all_columns(b));
    SolveCost cost;
    smoother(params_, smoothing, storage)->inside(fine_, 1)->apply(x, b, cost);
    return flops_and_bytes(cost);
  };
  const auto cycle = [&](Precision storage, int coarse_iterations) {
    Cost cost = smoothed(params_.smoothing, storage);
    cost += flops_and_bytes(operator_->cost(1));
    // These are P and P^dagger, and sums.
    cost += cost_of(sites * 2 * 96 * n, sites * 24 * real * (2 * n + 8));
    cost += coarse_iterations * cost_of_coarse_iteration(coarse, params_.vectors, real);
    return cost;
  };
  Cost iteration = cycle(*params_.smoother_storage, coarse_iterations_in_solves);
  iteration += flops_and_bytes(operator_->cost(1));
  iteration += cost_of(sites * 24 * 8 * kept_vectors, sites * 24 * real * (10 + 2 * kept_vectors));
  // Three passes go over noise.
  const bool is_schwarz = params_.smoother == MultigridSmoother::schwarz;
  Cost setup = params_.vectors * smoothed(is_schwarz ? 6 : 24, params_.storage);
  setup += sweeps * (params_.vectors * cycle(params_.storage, coarse_iterations_in_setup));
  return {price_of(setup) + (sweeps + 1) * price_of_projection(fine, *operator_, params_.vectors),
          price_of(iteration)};
}

}  // namespace trellis
