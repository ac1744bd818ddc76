#pragma once
/// Solvers as values: a spec says which method and how far; solve() runs it.
///
///   solve(EvenOddSpec{MixedPrecisionSpec{CgSpec{.tolerance = 1e-10}, Precision::half_precision}}, M, x, b)
///   solve(GcrSpec{.tolerance = 1e-8, .preconditioner = MrSpec{.iterations = 8}}, M, x, b)
///
/// Any solver may stand inside any other. Each method is one file in methods/, which holds its spec too; a
/// spec turns into a SolverSpec by itself.
///
/// A tolerance is |b - A x| / |b| of every right-hand side, always of the true residual in double.
///
/// A solve that is stuck ends as stagnated, long before its iterations run out (stagnation.hpp). The
/// outermost solve then goes on from the best solution so far with a surer method: conjugate gradients in the
/// same storage, then in the next wider one, each with max_iterations of its own, unless `fallback` is false.
#include <memory>
#include <vector>

namespace trellis {

class SolverRecipe;  // solver_recipe.hpp

/// It says how far a solver goes: these are the limits of the method that iterates, however deep it stands.
struct SolveLimits {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  bool records_history = false;
  bool fallback = true;
  /// With a number above 0 a solve has so many iterations and no tolerance, and never reports that it
  /// converged.
  int iterations = 0;
  /// These are factors of each right-hand side's tolerance; empty means 1. Solvers of a part of a system set
  /// them.
  std::vector<double> tightened = {};

  /// Returns the limits of `count` right-hand sides from `first` on, which are solved apart.
  SolveLimits of_columns(size_t first, size_t count) const;
};

/// It is any solver, as a value: what it holds is never changed, and copies share it.
class SolverSpec {
 public:
  /// @pre recipe is not null
  explicit SolverSpec(std::shared_ptr<const SolverRecipe> recipe);

  const SolverRecipe* operator->() const { return recipe_.get(); }
  const SolverRecipe& operator*() const { return *recipe_; }
  SolveLimits limits() const;
  /// Returns the same solver with other limits.
  SolverSpec limited(const SolveLimits& limits) const;
  /// Returns the same solver with another tolerance, and then one that records SolveReport::history.
  SolverSpec with_tolerance(double tolerance) const;
  SolverSpec with_history() const;

 private:
  std::shared_ptr<const SolverRecipe> recipe_;
};

}  // namespace trellis
