#include "trellis/multigrid/coarse_setup.hpp"

#include <algorithm>
#include <numeric>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/multigrid/galerkin.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/multigrid/test_vectors.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {
/// These passes go over noise, with so many steps of the smoother each.
constexpr int first_coarse_steps[] = {4, 8, 12};
}  // namespace

CoarseSetup::CoarseSetup(CoarseMatrixPtr D, int level, const MultigridParams& params,
                         MultigridSetupReport& report, SolveCost& cost)
    : D_{std::move(D)},
      level_{level},
      params_{params},
      report_{report},
      cost_{cost},
      operator_{LinearOperatorPtr(std::make_shared<CoarseOperator>(D_))} {
  if (report_.coarse_levels.size() < size_t(level)) report_.coarse_levels.resize(size_t(level));
}

void CoarseSetup::smooth(SiteField& vectors) {
  SiteField smoothed = SiteField::like(vectors);
  for (const int steps : first_coarse_steps) {
    coarse_smoother(steps)->inside(operator_, vectors.rhs())->apply(smoothed, vectors, cost_);
    normalise(smoothed);
    copy(vectors, smoothed);
  }
}

SiteField CoarseSetup::smoothed_noise(const std::vector<int>& numbers) {
  SiteField fresh = operator_->make_field(int(numbers.size()));
  fill_with_noise(fresh, params_.seed, noise_of_level(level_) + uint32_t(noises_), numbers);
  normalise(fresh);
  smooth(fresh);
  return fresh;
}

void CoarseSetup::improve(SiteField& vectors) {
  std::vector<OperatorCopies> copies;
  copies.reserve(below_.size() + 1);
  std::vector<CycleLevel> levels(static_cast<size_t>(level_));  // those above have no part in it
  levels.push_back({&operator_, prolongator_.get()});
  copies.emplace_back(LinearOperatorPtr(std::make_shared<CoarseOperator>(next_)));
  levels.push_back({&copies.back()});
  for (const CoarserLevel& level : below_) {
    levels.back().to_next = level.prolongator.get();
    copies.emplace_back(LinearOperatorPtr(std::make_shared<CoarseOperator>(level.matrix)));
    levels.push_back({&copies.back()});
  }
  SiteField improved = SiteField::like(vectors);
  level_solver(levels, size_t(level_), nullptr, params_, CycleUse::setup, vectors.rhs())
      ->apply(improved, vectors, cost_);
  normalise(improved);
  copy(vectors, improved);
}

/// Lists the vectors that depend on others; with none of them P is ready.
std::vector<int> CoarseSetup::orthonormalise(const SiteField& vectors) {
  if (!prolongator_)
    prolongator_ = std::make_shared<CoarseProlongator>(vectors, params_.coarse_blocks[size_t(level_) - 1],
                                                       vectors.rhs());
  copy(prolongator_->columns(), vectors);
  if (prolongator_->orthonormalise(least_independent, &gram_) > least_independent) return {};
  const std::vector<int> dependent = prolongator_->dependent_columns(least_independent);
  report_.notes.push_back(message(dependent.size(), " of ", vectors.rhs(), " test vectors of level ",
                                  level_ + 1, " depended on others in some block: noise replaced them"));
  return dependent;
}

/// Returns false where some diagonal matrix of the next level cannot be inverted.
bool CoarseSetup::has_next() {
  try {
    next_ = galerkin_product(*D_, *prolongator_);
  } catch (const NumericError& error) {  // the error is the same on all ranks
    report_.notes.push_back(
        message("level ", level_ + 1, ": ", error.what(), ": other noise replaced all test vectors"));
    return false;
  }
  own().condition = next_->condition();
  return true;
}

void CoarseSetup::build(SiteField& vectors, int sweeps) {
  for (int replacements = 0;; ++replacements) {
    std::vector<int> faulty = orthonormalise(vectors);
    if (faulty.empty()) {
      if (has_next()) break;
      faulty = all_columns(vectors);
    }
    if (replacements == most_replacements)
      throw NumericError(message("the set-up of multigrid: after ", replacements, " replacements ",
                                 faulty.size(), " of ", vectors.rhs(), " test vectors of level ", level_ + 1,
                                 " still depend on others in some block, or make a singular coarse "
                                 "operator; fewer vectors or larger blocks help"));
    ++noises_;
    const SiteField fresh = smoothed_noise(faulty);
    for (size_t i = 0; i < faulty.size(); ++i) copy_columns(vectors, faulty[i], fresh, int(i), 1);
  }
  SiteField image = SiteField::like(vectors);
  const VectorResiduals found = residuals_of(*operator_, vectors, image, cost_);
  own().residual.push_back(found.mean);
  own().worst_residual = found.worst;
  if (is_last()) return;
  SiteField restricted = prolongator_->make_coarse_field(vectors.rhs());
  prolongator_->restrict_to(restricted, vectors);
  below_ = CoarseSetup(next_, level_ + 1, params_, report_, cost_).from_vectors(restricted, sweeps);
}

std::vector<CoarserLevel> CoarseSetup::from_vectors(const SiteField& given, int sweeps) {
  const Stopwatch watch;
  own().residual.clear();
  SiteField vectors = operator_->make_field(params_.coarse_vectors[size_t(level_) - 1]);
  const int known = std::min(given.rhs(), vectors.rhs());
  copy_columns(vectors, 0, given, 0, known);
  if (known < vectors.rhs()) {
    std::vector<int> numbers(size_t(vectors.rhs() - known));
    std::iota(numbers.begin(), numbers.end(), known);
    copy_columns(vectors, known, smoothed_noise(numbers), 0, int(numbers.size()));
  }
  normalise(vectors);
  build(vectors, sweeps);
  for (int i = 0; i < sweeps; ++i) {
    prolongator_->mix(vectors, inverse_of_cholesky_factor(gram_).inverse);
    improve(vectors);
    build(vectors, sweeps);
  }
  own().seconds = watch.seconds();
  std::vector<CoarserLevel> all{{prolongator_, next_}};
  all.insert(all.end(), below_.begin(), below_.end());
  return all;
}

}  // namespace trellis
