#include "trellis/solver/solver_spec.hpp"

#include "trellis/base/error.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

SolveLimits SolveLimits::of_columns(size_t first, size_t count) const {
  SolveLimits part = *this;
  if (!tightened.empty())
    part.tightened.assign(tightened.begin() + std::ptrdiff_t(first),
                          tightened.begin() + std::ptrdiff_t(first + count));
  return part;
}

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
