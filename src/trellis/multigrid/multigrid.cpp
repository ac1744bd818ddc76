#include "trellis/multigrid/multigrid.hpp"

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/storage/same_links.hpp"
#include "trellis/multigrid/coarse_modes.hpp"
#include "trellis/multigrid/cycle.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/multigrid/remedy.hpp"
#include "trellis/solver/krylov_recipe.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

/// A coarse solve of more applications than these is deflated with so many modes, where the rule decides.
constexpr double long_coarse_solve = 40;
constexpr int modes_by_rule = 8;

/// It is a cycle and the multigrid that it belongs to; fields are converted where the solver outside has
/// another storage or site order.
class BoundCycle final : public ApproximateInverse {
 public:
  BoundCycle(MultigridPtr multigrid, std::vector<MultigridProfile>& profiles, const LinearOperator& A,
             int columns)
      : multigrid_{std::move(multigrid)},
        cycle_{multigrid_->cycle_levels(),
               0,
               multigrid_->coarse_modes(),
               multigrid_->params(),
               CycleUse::solve,
               columns,
               &profiles} {
    const SpinorField probe = A.make_field(1);
    const Prolongator& own = multigrid_->prolongator();
    if (probe.layout_ptr() == own.layout_ptr() && probe.precision() == own.precision()) return;
    residual_.emplace(multigrid_->fine()->make_field(columns));
    step_.emplace(SpinorField::like(*residual_));
  }

  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    if (!residual_) return cycle_.apply(z, r, cost);
    convert(*residual_, r);
    cycle_.apply(*step_, *residual_, cost);
    convert(z, *step_);
    cost.add_linear_algebra(r, 4, 0, 2, 0);
  }

 private:
  MultigridPtr multigrid_;
  MultigridCycle cycle_;
  std::optional<SpinorField> residual_, step_;
};

const WilsonOperator& wilson_operator(const LinearOperator& A) {
  const auto* M = dynamic_cast<const WilsonOperator*>(&A);
  TRELLIS_REQUIRE(M, "multigrid serves Wilson, clover and twisted-mass operators on all sites, not ",
                  A.name(), ": it stands outside of even-odd preconditioning, which its smoother has inside");
  return *M;
}

/// Returns the coarse matrices as solves multiply them.
CoarseMatrixPtr in_solves(const CoarseMatrixPtr& coarse, const MultigridParams& params) {
  if (!coarse) return coarse;
  const bool is_rounded = is_16_bit(params.coarse_storage) && params.storage == Precision::single_precision;
  return is_rounded ? coarse->stored_in(params.coarse_storage) : coarse;
}

/// Returns the parameters but for the mass and the twisted mass.
WilsonParams without_masses(WilsonParams params) {
  params.mass = params.twisted_mass = 0;
  return params;
}

bool are_alike(const WilsonParams& a, const WilsonParams& b) {
  return a.mass == b.mass && a.csw_spatial == b.csw_spatial && a.csw_temporal == b.csw_temporal &&
         a.nu == b.nu && a.xi0 == b.xi0 && a.twisted_mass == b.twisted_mass && a.boundary == b.boundary;
}

}  // namespace

const char* name_of(MultigridSmoother smoother) {
  switch (smoother) {
    case MultigridSmoother::schwarz:
      return "sap";
    case MultigridSmoother::minimal_residual:
      return "mr";
    default:
      return "auto";
  }
}

MultigridSmoother smoother_by_name(const std::string& name) {
  for (const auto smoother :
       {MultigridSmoother::by_rule, MultigridSmoother::schwarz, MultigridSmoother::minimal_residual})
    if (name == name_of(smoother)) return smoother;
  throw BadArgument(message("multigrid has the smoothers auto, sap and mr, not ", name));
}

const char* name_of(CoarseSolver solver) { return solver == CoarseSolver::schwarz ? "schwarz" : "gcr"; }

CoarseSolver coarse_solver_by_name(const std::string& name) {
  for (const CoarseSolver solver : {CoarseSolver::gcr, CoarseSolver::schwarz})
    if (name == name_of(solver)) return solver;
  throw BadArgument(message("the coarse system of multigrid has the solvers gcr and schwarz, not ", name));
}

const char* name_of(MultigridCycleKind cycle) { return cycle == MultigridCycleKind::k ? "k" : "v"; }

MultigridCycleKind cycle_by_name(const std::string& name) {
  for (const auto cycle : {MultigridCycleKind::k, MultigridCycleKind::v})
    if (name == name_of(cycle)) return cycle;
  throw BadArgument(message("multigrid has the cycles k and v, not ", name));
}

namespace {
std::vector<OperatorCopies> copies_in_solves(const MultigridHierarchy& hierarchy,
                                             const MultigridParams& params) {
  std::vector<OperatorCopies> copies;
  for (int level = 1; level < hierarchy.levels(); ++level)
    copies.emplace_back(hierarchy.operator_of(level, in_solves(hierarchy.matrix(level), params)));
  return copies;
}
}  // namespace

Multigrid::Multigrid(MultigridParams params, WilsonMatrixPtr matrix, MultigridHierarchy hierarchy,
                     MultigridSetupReport report)
    : params_{std::move(params)},
      matrix_{std::move(matrix)},
      hierarchy_{std::move(hierarchy)},
      report_{std::move(report)},
      built_{hierarchy_},
      built_at_{matrix_->params()},
      fine_copies_{LinearOperatorPtr(std::make_shared<WilsonOperator>(matrix_))},
      coarse_copies_{copies_in_solves(hierarchy_, params_)},
      coarse_modes_{make_coarse_modes()},
      profiles_{std::make_shared<std::vector<MultigridProfile>>(size_t(levels()) - 1)} {}

std::vector<CycleLevel> Multigrid::cycle_levels() const {
  return trellis::cycle_levels(fine_copies_, coarse_copies_, hierarchy_);
}

double Multigrid::coarsest_applications() const {
  const MultigridProfile& above = profiles_->back();
  if (above.columns == 0) return 0;
  const double one = coarse_copies_.back()->cost(1).flops;
  return above.coarse.cost.flops / (one * double(above.columns));
}

/// The rule has a trial: a coarse solve of a random vector.
std::shared_ptr<const Eigenvectors> Multigrid::make_coarse_modes() {
  const Stopwatch watch;
  int count = params_.coarse_modes;
  if (count == MultigridParams::by_rule) {
    SolveCost trial;
    const OperatorCopies& coarsest = coarse_copies_.back();
    const double one = coarsest->cost(1).flops;  // the even-odd system takes as many
    try_coarse_solve(coarsest, params_, trial);
    count = trial.flops > long_coarse_solve * one ? modes_by_rule : 0;
    report_.cost += trial;
  }
  if (count <= 0) return nullptr;
  const CoarseMatrixPtr& coarsest = hierarchy_.matrix(levels() - 1);
  std::shared_ptr<const Eigenvectors> found;
  Cost cost;
  const auto find = [&] {
    found = find_coarse_modes(coarsest, in_solves(coarsest, params_), count, params_.seed, cost);
  };
  hierarchy_.gathering ? hierarchy_.gathering->run(find, cost) : find();
  report_.cost += cost;
  report_.seconds_of_coarse_modes = watch.seconds();
  return found;
}

MultigridPtr Multigrid::make(const WilsonOperator& M, const MultigridParams& params) {
  return MultigridSetup(*M.matrix(), params).from_noise();
}

std::string Multigrid::name() const {
  const char* const numbers[] = {"two", "three", "four"};
  const std::string count = levels() <= 4 ? numbers[levels() - 2] : std::to_string(levels());
  return message("multigrid of ", count, " levels with ", params_.vectors, " vectors on blocks of ",
                 to_string(params_.block), " for ", WilsonOperator(matrix_).name());
}

void Multigrid::require_belong_to(const LinearOperator& A) const {
  const WilsonMatrix& M = *wilson_operator(A).matrix();
  TRELLIS_REQUIRE(A.domain_lattice() == prolongator().fine_lattice(), "the ", name(),
                  " lives on another lattice than ", A.name());
  TRELLIS_REQUIRE(are_alike(without_masses(M.params()), without_masses(matrix_->params())), "the ", name(),
                  " was made for another clover coefficient, anisotropy or boundary than ", A.name(), " has");
  TRELLIS_REQUIRE(
      M.gauge_field() == matrix_->gauge_field() || has_same_links(*M.gauge_field(), *matrix_->gauge_field()),
      "the ", name(), " was made for other links than those of ", A.name(), ": update it, or make it anew");
}

MultigridPtr Multigrid::at(const WilsonOperator& M) const {
  require_belong_to(M);
  const WilsonParams &wanted = M.matrix()->params(), &own = matrix_->params();
  if (are_alike(wanted, own)) return shared_from_this();
  if (shifted_ && are_alike(wanted, shifted_->matrix_->params())) return shifted_;
  const MultigridHierarchy hierarchy =
      are_alike(wanted, built_at_)
          ? built_
          : built_.shifted(wanted.mass - built_at_.mass, wanted.twisted_mass - built_at_.twisted_mass);
  const auto matrix = std::make_shared<WilsonMatrix>(*matrix_->gauge_field(), wanted, matrix_->choice());
  const auto shifted = std::shared_ptr<Multigrid>(new Multigrid(params_, matrix, hierarchy, report_));
  shifted->coefficients_ = coefficients_;
  shifted->built_ = built_;
  shifted->built_at_ = built_at_;
  shifted->profiles_ = profiles_;
  shifted_ = shifted;
  return shifted_;
}

PreparedPtr Multigrid::updated(const LinearOperatorPtr& A) const {
  return MultigridSetup(*wilson_operator(*A).matrix(), params_).from_vectors_of(*this, 1);
}

std::unique_ptr<ApproximateInverse> Multigrid::cycle(const LinearOperator& A, int columns) const {
  const MultigridPtr own = at(wilson_operator(A));
  return std::make_unique<BoundCycle>(own, *own->profiles_, A, columns);
}

namespace {

/// A cycle takes off a digit in a few iterations, or else has lost a mode that its coarse lattice lacks.
constexpr StagnationRule multigrid_is_stuck{
    .least_iterations = 32, .least_gain = 0, .most_iterations = 400, .spacing = 16};

class MultigridRecipe final : public SolverRecipe {
 public:
  explicit MultigridRecipe(MultigridSpec spec) : spec_{std::move(spec)} {
    TRELLIS_REQUIRE(spec_.multigrid, "a multigrid solver needs a multigrid");
  }
  std::string name(const LinearOperator&) const override {
    const MultigridParams& p = spec_.multigrid->params();
    return message("multigrid (", p.vectors, " vectors, blocks of ", to_string(p.block), ")",
                   spec_.remedy ? spec_.remedy->words() : "");
  }
  SolveLimits limits() const override { return limits_of(spec_); }
  SolverSpec limited(const SolveLimits& l) const override { return with_limits(spec_, l); }
  std::optional<SolverSpec> surer() const override {
    MultigridSpec mended = spec_;
    mended.remedy = MultigridRemedy::after(spec_.remedy.get());
    if (mended.remedy) return mended;
    return EvenOddSpec{MixedPrecisionSpec{with_limits(CgSpec{}, limits()), Precision::single_precision}};
  }
  std::optional<Precision> storage() const override { return spec_.multigrid->params().storage; }
  int columns_at_a_time() const override { return spec_.batch; }
  SolveReport solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const override {
    const Stopwatch watch;
    SolveCost cost;
    MultigridSpec inside = spec_;
    try {
      const WilsonOperator& M = wilson_operator(*A);
      inside.multigrid =
          spec_.remedy ? spec_.remedy->apply(*spec_.multigrid, M, cost) : spec_.multigrid->at(M);
    } catch (const NumericError& error) {
      return without_multigrid(error, *A, x, b);
    }
    GcrSpec gcr = with_limits(GcrSpec{}, limits());
    gcr.restart_length = spec_.restart_length;
    gcr.preconditioner = Preconditioner(SolverSpec(inside));
    gcr.stagnation = multigrid_is_stuck;
    SolveReport report = SolverSpec(MixedPrecisionSpec{gcr, Precision::single_precision})->solve(A, x, b);
    report.method = name(*A);
    report.cost += cost;
    report.seconds = watch.seconds();
    return report;
  }
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const override {
    return spec_.multigrid->cycle(*A, columns);
  }

 private:
  /// There is none for A, and the solve goes on with what is surer.
  SolveReport without_multigrid(const NumericError& error, const LinearOperator& A, const SpinorField& x,
                                const SpinorField& b) const {
    SolveReport report;
    report.method = message(name(A), ": ", error.what());
    report.reason = StopReason::broke_down;
    report.relative_residual = relative_residual(A, x, b);
    return report;
  }
  MultigridSpec spec_;
};

}  // namespace

MultigridSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<MultigridRecipe>(*this)); }

}  // namespace trellis
