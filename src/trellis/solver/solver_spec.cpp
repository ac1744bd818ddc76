#include "trellis/solver/solver_spec.hpp"

#include "trellis/base/error.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

SolverSpec::SolverSpec(std::shared_ptr<const SolverRecipe> recipe) : recipe_{std::move(recipe)} {
  TRELLIS_REQUIRE(recipe_ != nullptr, "a solver needs a method");
}

SolveLimits SolverSpec::limits() const { return recipe_->limits(); }

SolverSpec SolverSpec::limited(const SolveLimits& limits) const { return recipe_->limited(limits); }

SolverSpec SolverSpec::with_tolerance(double tolerance) const {
  SolveLimits changed = limits();
  changed.tolerance = tolerance;
  return limited(changed);
}

SolverSpec SolverSpec::with_history() const {
  SolveLimits changed = limits();
  changed.records_history = true;
  return limited(changed);
}

}  // namespace trellis
