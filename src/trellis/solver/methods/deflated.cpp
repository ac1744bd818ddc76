#include "trellis/solver/methods/deflated.hpp"

#include <algorithm>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/preconditioner.hpp"
#include "trellis/solver/solver_methods.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

/// It computes z = V lambda^-1 V^dagger A^dagger r, and adds what the solver finds for the rest.
class DeflatedInverse final : public ApproximateInverse {
 public:
  DeflatedInverse(std::shared_ptr<const Eigenvectors> vectors, std::unique_ptr<ApproximateInverse> K,
                  const LinearOperator& A, int columns)
      : A_{A},
        vectors_{std::move(vectors)},
        K_{std::move(K)},
        residual_{A.make_field(columns)},
        step_{SpinorField::like(residual_)} {}

  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    const Coefficients one(size_t(r.rhs()), 1.0);
    if (vectors_->images.empty())
      deflate(z, r, one, cost);
    else
      vectors_->deflate_by_images(z, residual_, r, cost);
    K_->apply(step_, residual_, cost);
    combine(z, one, z, one, step_);
    cost.add_linear_algebra(r, 3, 2, 1, 0);
  }

 private:
  void deflate(SpinorField& z, const SpinorField& r, const Coefficients& one, SolveCost& cost) {
    set_zero(z);
    vectors_->deflate(A_, z, r, cost);
    A_.apply(residual_, z);
    combine(residual_, one, r, negative(one), residual_);
    cost.add_applications(A_, r.rhs(), 1);
    cost.add_linear_algebra(r, 4, 2, 1, 0);
  }
  const LinearOperator& A_;
  std::shared_ptr<const Eigenvectors> vectors_;
  std::unique_ptr<ApproximateInverse> K_;
  SpinorField residual_, step_;
};

class DeflatedRecipe final : public SolverRecipe {
 public:
  explicit DeflatedRecipe(DeflatedSpec spec) : spec_{std::move(spec)} {}

  std::string name(const LinearOperator& A) const override {
    return message(spec_.solver->name(A), ", deflated with ", spec_.vectors->count(), " modes");
  }
  SolveLimits limits() const override { return spec_.solver.limits(); }
  SolverSpec limited(const SolveLimits& limits) const override {
    return DeflatedSpec{spec_.solver.limited(limits), spec_.vectors, spec_.reduction};
  }
  std::optional<SolverSpec> surer() const override {
    const auto inside = spec_.solver->surer();
    if (!inside) return std::nullopt;
    return DeflatedSpec{*inside, spec_.vectors, spec_.reduction};
  }
  std::optional<Precision> storage() const override { return spec_.solver->storage(); }
  SolveReport solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const override;
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const override {
    if (spec_.vectors->images.empty()) spec_.vectors->require_belong_to(*A);  // A made the images
    return std::make_unique<DeflatedInverse>(spec_.vectors, spec_.solver->inside(A, columns), *A, columns);
  }

 private:
  double reduction() const {
    if (spec_.reduction > 0) return spec_.reduction;
    return is_16_bit(spec_.vectors->vectors.front().precision()) ? 1e-3 : 1e-4;
  }
  DeflatedSpec spec_;
};

SolveReport DeflatedRecipe::solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const {
  const Stopwatch watch;
  spec_.vectors->require_belong_to(*A);
  const SolveLimits all = limits();
  SolveReport total;
  SolveCost cost;
  double target = 1;  // it is the same for all columns, so that none depends on the others
  for (;;) {
    spec_.vectors->deflate(*A, x, b, cost);
    SolveLimits stage = all;
    target = std::max(all.tolerance, reduction() * target);
    stage.tolerance = target;
    stage.max_iterations = std::max(1, all.max_iterations - total.iterations);
    stage.fallback = false;  // the outermost solve alone goes on with another method
    SolveReport part = spec_.solver.limited(stage)->solve(A, x, b);
    const bool goes_on = part.converged && target > all.tolerance;
    part.continues(total);
    total = std::move(part);
    if (!goes_on) break;
    if (total.iterations >= all.max_iterations) {
      total.converged = false;
      total.reason = StopReason::max_iterations;
      break;
    }
  }
  total.method = name(*A);
  total.cost += cost;
  total.seconds = watch.seconds();
  return total;
}

}  // namespace

DeflatedSpec::operator SolverSpec() const {
  TRELLIS_REQUIRE(vectors != nullptr, "a deflated solver needs eigenvectors");
  TRELLIS_REQUIRE(reduction >= 0 && reduction < 1, "a deflated solve: reduction lies between 0 and 1, not ",
                  reduction);
  if (const auto system = even_odd_system(solver))  // the modes are those of the system
    return EvenOddSpec{DeflatedSpec{system->solver, vectors, reduction}, system->form};
  return SolverSpec(std::make_shared<DeflatedRecipe>(*this));
}

extern const SolverMethod deflated_method{
    "deflated", [](const SolverParameters& p) -> SolverSpec {
      DeflatedSpec spec{p.solver("solver"), nullptr, 0};
      PreparedPtr prepared;
      p.take("eigenvectors", prepared);
      p.take("reduction", spec.reduction);
      spec.vectors = std::dynamic_pointer_cast<const Eigenvectors>(prepared);
      TRELLIS_REQUIRE(spec.vectors || !prepared, "deflated takes eigenvectors, found ", prepared->name());
      return spec;
    }};

}  // namespace trellis
