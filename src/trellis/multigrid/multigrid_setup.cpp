#include "trellis/multigrid/multigrid_setup.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trellis/algebra/random.hpp"
#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/field/storage/memory_layout.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/multigrid/coarse_schwarz.hpp"
#include "trellis/multigrid/coarse_setup.hpp"
#include "trellis/multigrid/galerkin.hpp"
#include "trellis/multigrid/multigrid_rules.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/multigrid/schwarz.hpp"
#include "trellis/multigrid/sweep_rule.hpp"
#include "trellis/multigrid/test_vectors.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

/// These passes go over random vectors, with so many steps of minimal residual each, or so many Schwarz
/// cycles.
constexpr int first_steps[] = {4, 8, 12}, first_cycles[] = {1, 2, 3};
constexpr int vectors_at_a_time = 4;
/// Levels below the second lattice sweep so often while the vectors of the finest are still being improved.
constexpr int early_coarse_sweeps = 1;

/// Returns M in the storage of the multigrid, with as many lanes as aggregates can lie side by side.
WilsonMatrixPtr in_fitting_lanes(const WilsonMatrix& M, const MultigridParams& params) {
  KernelChoice choice = M.choice();
  choice.precision = params.storage;
  for (const int lanes : {0, 16, 8, 4, 1}) {
    if (lanes > native_lanes(params.storage)) continue;
    choice.lanes = lanes;
    const SpinorField probe(M.hop().lattice_ptr(),
                            {.precision = params.storage, .backend = choice.backend, .lanes = lanes});
    if (Aggregates::fit(probe.layout(), params.block)) break;
  }
  return std::make_shared<WilsonMatrix>(*M.gauge_field(), M.params(), choice);
}

}  // namespace

MultigridSetup::MultigridSetup(const WilsonMatrix& M, const MultigridParams& params)
    : params_{with_rules(M, params)},
      matrix_{in_fitting_lanes(M, params_)},
      operator_{std::make_shared<WilsonOperator>(matrix_)},
      fine_{LinearOperatorPtr(operator_)} {}

template <class Make>
void MultigridSetup::replace_in_parts(SpinorField& vectors, const Make& make) {
  const bool is_cut = launches_can_be_cut(vectors.spec().backend);
  const int size = is_cut ? std::min(vectors_at_a_time, vectors.rhs()) : vectors.rhs();
  std::optional<SpinorField> part, result;
  std::unique_ptr<ApproximateInverse> K;
  for (int first = 0; first < vectors.rhs(); first += size) {
    stop_together(vectors.lattice().communicator());
    const int count = std::min(size, vectors.rhs() - first);
    if (!part || part->rhs() != count) {
      K.reset();
      part.emplace(with_columns(vectors, count));
      result.emplace(with_columns(vectors, count));
      K = make(count);
    }
    is_cut ? copy_columns(*part, 0, vectors, first, count) : copy(*part, vectors);
    K->apply(*result, *part, cost_);
    normalise(*result);
    is_cut ? copy_columns(vectors, first, *result, 0, count) : copy(vectors, *result);
  }
}

void MultigridSetup::smooth(SpinorField& vectors) {
  const Stopwatch watch;
  const bool is_schwarz = params_.smoother == MultigridSmoother::schwarz;
  for (const int smoothing : is_schwarz ? first_cycles : first_steps)
    replace_in_parts(vectors, [&](int columns) {
      return smoother(params_, smoothing, params_.storage)->inside(fine_, columns);
    });
  report_.seconds_of_smoothing += watch.seconds();
}

/// Does Gram-Schmidt over the whole lattice, in the order of the vectors: else all would turn to the lowest
/// mode.
void MultigridSetup::orthogonalise(SpinorField& vectors) {
  const Stopwatch watch;
  // Vectors that are independent in each aggregate are so on the whole lattice.
  prolongator_->mix(vectors, inverse_of_cholesky_factor(gram_).inverse);
  report_.seconds_of_orthonormalisation += watch.seconds();
}

template <class Use>
void MultigridSetup::with_present_cycle(const Use& use) {
  with_cycle_of(hierarchy(), use);
}

template <class Use>
void MultigridSetup::with_cycle_of(const MultigridHierarchy& present, const Use& use) {
  std::vector<OperatorCopies> coarse;
  for (int level = 1; level < present.levels(); ++level)
    coarse.emplace_back(present.operator_of(level, present.matrix(level)));
  const std::vector<CycleLevel> levels = cycle_levels(fine_, coarse, present);
  use([&](CycleUse what, int columns) {
    return std::make_unique<MultigridCycle>(levels, 0, nullptr, params_, what, columns);
  });
}

void MultigridSetup::improve(SpinorField& vectors) {
  const Stopwatch watch;
  with_present_cycle([&](const auto& cycle) {
    replace_in_parts(vectors, [&](int columns) { return cycle(CycleUse::setup, columns); });
  });
  report_.seconds_of_sweeps += watch.seconds();
}

void MultigridSetup::improve_some(SpinorField& vectors, const MultigridHierarchy& levels,
                                  const SomeVectors& some) {
  if (some.count == 0) return;
  const Stopwatch watch;
  SpinorField part = with_columns(vectors, some.count);
  const auto place = [&](int i) { return (some.first + i) % vectors.rhs(); };
  for (int i = 0; i < some.count; ++i) copy_columns(part, i, vectors, place(i), 1);
  with_cycle_of(levels, [&](const auto& cycle) {
    replace_in_parts(part, [&](int columns) { return cycle(CycleUse::setup, columns); });
  });
  for (int i = 0; i < some.count; ++i) copy_columns(vectors, place(i), part, i, 1);
  report_.seconds_of_sweeps += watch.seconds();
}

SpinorField& MultigridSetup::workspace() {
  if (!image_) image_.emplace(prolongator_->make_columns());
  return *image_;
}

void MultigridSetup::record_residuals(const SpinorField& vectors) {
  const VectorResiduals found = residuals_of(*fine_, vectors, workspace(), cost_);
  report_.residual.push_back(found.mean);
  report_.worst_residual = found.worst;
}

void MultigridSetup::build(SpinorField& vectors, int coarse_sweeps) {
  for (int replacements = 0;; ++replacements) {
    stop_together(vectors.lattice().communicator());
    std::vector<int> faulty = orthonormalise(vectors);
    if (faulty.empty()) {
      if (has_coarse_operator()) break;
      faulty = all_columns(vectors);
    }
    if (replacements == most_replacements)
      throw NumericError(message("the set-up of multigrid: after ", replacements, " replacements ",
                                 faulty.size(), " of ", vectors.rhs(),
                                 " test vectors still depend on others in some block, or make a singular "
                                 "coarse operator; fewer vectors or larger blocks help"));
    replace(vectors, faulty);
  }
  coefficients_ = std::make_shared<SiteField>(prolongator_->make_coarse_field(vectors.rhs()));
  prolongator_->restrict_to(*coefficients_, vectors);
  cost_ += cost_of_projection(*prolongator_->fine_lattice(), *operator_, vectors.rhs());
  if (records_residuals_) record_residuals(vectors);
  if (params_.levels == 2) return;
  const Stopwatch watch;
  coarser_ = CoarseSetup(coarse_, 1, params_, report_, cost_).from_vectors(*coefficients_, coarse_sweeps);
  report_.seconds_of_coarse_levels += watch.seconds();
}

/// Lists the vectors that depend on others; with none of them P is ready.
std::vector<int> MultigridSetup::orthonormalise(const SpinorField& vectors) {
  const Stopwatch watch;
  if (!prolongator_) prolongator_ = std::make_shared<Prolongator>(vectors, params_.block, vectors.rhs());
  copy(prolongator_->columns(), vectors);
  std::vector<int> dependent;
  if (!(prolongator_->orthonormalise(least_independent, &gram_) > least_independent)) {
    dependent = prolongator_->dependent_columns(least_independent);
    report_.notes.push_back(message(dependent.size(), " of ", vectors.rhs(),
                                    " test vectors depended on others in some block: noise replaced them"));
  }
  report_.seconds_of_orthonormalisation += watch.seconds();
  return dependent;
}

/// Returns false where some diagonal matrix cannot be inverted.
bool MultigridSetup::has_coarse_operator() {
  const Stopwatch watch;
  if (is_rounded()) prolongator_->round_columns();
  try {
    set_second(galerkin_product(*matrix_, *prolongator_, workspace()));
  } catch (const NumericError& error) {  // the error is the same on all ranks
    report_.notes.push_back(message(error.what(), ": other noise replaced all test vectors"));
    return false;
  }
  report_.seconds_of_coarse_operator += watch.seconds();
  return true;
}

/// Returns the matrices of the coarsest level on the ranks that solve it.
CoarseMatrixPtr MultigridSetup::on_few(const LatticePtr& lattice, const CoarseMatrixPtr& everywhere) {
  const bool has_boxes = params_.coarse_solver == CoarseSolver::schwarz;
  const Coord box = has_boxes ? coarse_box_by_rule : Coord{1, 1, 1, 1};
  if (!coarse_is_placed_) gathering_ = gathering_for(lattice, params_.coarse_ranks, box);
  coarse_is_placed_ = true;
  return gathering_ ? gathering_->gathered(*everywhere) : everywhere;
}

void MultigridSetup::set_second(const CoarseMatrixPtr& everywhere) {
  report_.condition = everywhere->condition();
  coarse_ = params_.levels == 2 ? on_few(prolongator_->coarse_lattice(), everywhere) : everywhere;
}

/// Moves the coarsest matrices to few ranks, since levels below the second are set up on all.
void MultigridSetup::place_coarsest() {
  if (coarser_.empty()) return;
  CoarseMatrixPtr& matrix = coarser_.back().matrix;
  matrix = on_few(matrix->lattice_ptr(), matrix);
}

void MultigridSetup::replace(SpinorField& vectors, const std::vector<int>& numbers) {
  ++noises_;
  SpinorField fresh = with_columns(vectors, int(numbers.size()));
  fill_with_noise(fresh, params_.seed, noises_, numbers);
  normalise(fresh);
  smooth(fresh);
  for (size_t i = 0; i < numbers.size(); ++i) copy_columns(vectors, numbers[i], fresh, int(i), 1);
}

void MultigridSetup::sweep(SpinorField& vectors, int sweeps) {
  for (int i = 0; i < sweeps; ++i) {
    orthogonalise(vectors);
    improve(vectors);
    build(vectors, i + 1 < sweeps ? early_coarse_sweeps : params_.coarse_sweeps);
  }
}

void MultigridSetup::sweep_by_rule(SpinorField& vectors) {
  for (int made = 0;; ++made) {
    const Stopwatch watch;
    with_present_cycle([&](const auto& cycle) {
      report_.trials.push_back(try_cycle(fine_, cycle(CycleUse::solve, 1), made, params_.seed, cost_));
    });
    report_.seconds_of_trials += watch.seconds();
    params_.sweeps = made;
    report_.price_of_sweep = params_.vectors * report_.trials.back().price_of_iteration +
                             price_of_projection(*prolongator_->fine_lattice(), *operator_, params_.vectors);
    if (!sweep_pays(report_.trials, report_.price_of_sweep, params_.sources)) return;
    sweep(vectors, 1);
  }
}

MultigridPtr MultigridSetup::finish(const Stopwatch* watch) {
  report_.cost += cost_;
  if (is_rounded()) prolongator_->release_columns();
  place_coarsest();
  const std::shared_ptr<Multigrid> made(new Multigrid(params_, matrix_, hierarchy(), report_));
  made->coefficients_ = coefficients_;
  if (watch) made->report_.seconds = watch->seconds();  // the low modes are a part of it
  return made;
}

MultigridPtr MultigridSetup::from_noise() {
  const Stopwatch watch;
  SpinorField vectors = operator_->make_field(params_.vectors);
  fill_with_noise(vectors, params_.seed, noises_, all_columns(vectors));
  normalise(vectors);
  smooth(vectors);
  build(vectors, params_.sources > 0 || params_.sweeps > 0 ? early_coarse_sweeps : params_.coarse_sweeps);
  if (params_.sources > 0)
    sweep_by_rule(vectors);
  else
    sweep(vectors, params_.sweeps);
  return finish(&watch);
}

MultigridPtr MultigridSetup::from_vectors(const SpinorField& given, int sweeps) {
  const Stopwatch watch;
  SpinorField vectors = operator_->make_field(given.rhs());
  convert(vectors, given);
  build(vectors, sweeps > 0 ? early_coarse_sweeps : params_.coarse_sweeps);
  sweep(vectors, sweeps);
  return finish(&watch);
}

MultigridPtr MultigridSetup::from_vectors_of(const Multigrid& other, int sweeps) {
  SpinorField vectors = other.prolongator().make_columns();
  other.prolongator().prolong_to(vectors, *other.coefficients());
  return from_vectors(vectors, sweeps);
}

MultigridPtr MultigridSetup::refreshed(const Multigrid& other, const SomeVectors& improved) {
  const Stopwatch watch;
  TRELLIS_REQUIRE(improved.first >= 0 && improved.count >= 0 && improved.count <= params_.vectors,
                  "a refresh improves 0 to ", params_.vectors, " test vectors, not ", improved.count);
  records_residuals_ = false;
  SiteField coefficients = SiteField::like(*other.coefficients());
  copy(coefficients, *other.coefficients());
  orthonormalise_columns(coefficients);  // P leaves products as they are
  SpinorField vectors = other.prolongator().make_columns();
  other.prolongator().prolong_to(vectors, coefficients);
  improve_some(vectors, other.hierarchy(), improved);
  build(vectors, params_.coarse_sweeps);
  return finish(&watch);
}

MultigridPtr MultigridSetup::from_columns(const std::function<void(SpinorField&, SiteField&)>& fill,
                                          const std::function<void(int level, SiteField&)>& fill_coarse,
                                          MultigridSetupReport report) {
  prolongator_ = std::make_shared<Prolongator>(operator_->make_field(1), params_.block, params_.vectors);
  coefficients_ = std::make_shared<SiteField>(prolongator_->make_coarse_field(params_.vectors));
  fill(prolongator_->columns(), *coefficients_);
  if (is_rounded()) prolongator_->round_columns();
  CoarseMatrixPtr upper = galerkin_product(*matrix_, *prolongator_);
  set_second(upper);
  for (int level = 1; level + 1 < params_.levels; ++level) {
    const auto P = std::make_shared<CoarseProlongator>(CoarseOperator(upper).make_field(),
                                                       params_.coarse_blocks[size_t(level) - 1],
                                                       params_.coarse_vectors[size_t(level) - 1]);
    fill_coarse(level, P->columns());
    upper = galerkin_product(*upper, *P);
    coarser_.push_back({P, upper});
  }
  const double condition = report_.condition;
  report_ = std::move(report);
  report_.condition = condition;
  return finish(nullptr);
}

MultigridPtr MultigridSetup::with_coarse_space_of(const Multigrid& other) {
  MultigridParams without_modes = params_;  // those of D_c are known
  without_modes.coarse_modes = 0;
  const std::shared_ptr<Multigrid> made(
      new Multigrid(without_modes, matrix_, other.hierarchy_, other.report_));
  made->params_ = params_;
  made->coarse_modes_ = other.coarse_modes_;
  made->coefficients_ = other.coefficients_;
  return made;
}

}  // namespace trellis
