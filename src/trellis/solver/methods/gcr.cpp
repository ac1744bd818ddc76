#include "trellis/solver/methods/gcr.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trellis/base/error.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/solver/krylov_recipe.hpp"
#include "trellis/solver/solver_methods.hpp"

namespace trellis {

namespace {
/// A cycle that leaves more of |r|^2 than this stagnates.
constexpr double most_left_by_cycle = 1 - 1e-6;
/// A column that keeps less of |z|^2 than this is made orthogonal a second time.
constexpr double least_kept = 0.5;
/// This takes the place of least_kept where the norm after the first time is a difference of sums.
constexpr double least_difference = 1e-2;
/// Gram-Schmidt leaves at least this of |z|^2 the second time, where z is not in the space of the others (W.
/// Kahan and B. Parlett: twice is enough).
constexpr double least_left_again = 0.25;
/// A batch goes on without its finished columns once they are this part of it.
constexpr double least_finished = 0.25;

void copy_some(SpinorField& out, const SpinorField& in, const std::vector<size_t>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) copy_columns(out, int(i), in, int(columns[i]), 1);
}

template <class Values>
Values some_of(const Values& values, const std::vector<size_t>& columns) {
  Values found;
  for (const size_t i : columns) found.push_back(values[i]);
  return found;
}
}  // namespace

Gcr::Gcr(const LinearOperator& A, int rhs, int restart_length, MakeInverse make_K, bool has_one_sum)
    : A_{A},
      restart_length_{restart_length},
      has_one_sum_{has_one_sum},
      make_K_{std::move(make_K)},
      K_{make_K_ ? make_K_(rhs) : nullptr},
      places_(size_t(rhs)) {
  TRELLIS_REQUIRE(restart_length >= 1, "gcr restarts after at least one step, not ", restart_length);
  std::iota(places_.begin(), places_.end(), size_t(0));
  make_room(0, rhs);
}

Gcr::Gcr(const Gcr& wide, const std::vector<size_t>& columns, int steps)
    : A_{wide.A_},
      restart_length_{wide.restart_length_},
      has_one_sum_{wide.has_one_sum_},
      make_K_{wide.make_K_},
      K_{make_K_ ? make_K_(int(columns.size())) : nullptr},
      places_{some_of(wide.places_, columns)},
      before_{steps > 0 ? some_of(wide.before_, columns) : Coefficients()} {
  for (int k = 0; k < steps; ++k) {
    const size_t step = size_t(k);
    make_room(k, int(columns.size()));
    copy_some(directions_[step], wide.directions_[step], columns);
    copy_some(images_[step], wide.images_[step], columns);
    image2_[step] = some_of(wide.image2_[step], columns);
    alpha_[step] = some_of(wide.alpha_[step], columns);
    for (size_t j = 0; j < step; ++j) overlap_[step][j] = some_of(wide.overlap_[step][j], columns);
  }
  make_room(0, int(columns.size()));
}

bool Gcr::any_active(const SolveProgress& progress) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](size_t place) { return progress.columns[place].is_active; });
}

void Gcr::record(const Coefficients& residual2, SolveProgress& progress) const {
  Coefficients of_all;
  for (const SolveColumn& c : progress.columns) of_all.push_back(c.residual2);
  for (size_t i = 0; i < places_.size(); ++i) of_all[places_[i]] = residual2[i];
  progress.record(of_all);
}

/// Makes fields when a step needs them: a solve of few steps takes few fields, however late it restarts.
void Gcr::make_room(int k, int rhs) {
  if (k < int(directions_.size())) return;
  directions_.push_back(A_.make_field(rhs));
  images_.push_back(SpinorField::like(directions_.back()));
  image2_.emplace_back(size_t(rhs), 0.0);
  alpha_.emplace_back(size_t(rhs), 0.0);
  overlap_.emplace_back(size_t(k), ComplexCoefficients(size_t(rhs), 0.0));
}

/// Makes z_k from A p_k; returns |z_k|^2. It does classical Gram-Schmidt, twice for columns that lose much of
/// their norm (J. W. Daniel, W. B. Gragg, L. Kaufman, G. W. Stewart, Math. Comp. 30 (1976) 772): what
/// rounding leaves of the overlaps is then as small as with one vector after the other.
Coefficients Gcr::orthogonalise(int k, SolveProgress& progress) {
  SpinorField& z = images_[size_t(k)];
  if (k == 0) return norm2_each(z);
  const size_t n = size_t(z.rhs());
  const FieldList earlier = first_of(images_, size_t(k)), with_own = first_of(images_, size_t(k) + 1);
  FieldCoefficients& overlap = overlap_[size_t(k)];
  for (ComplexCoefficients& c : overlap) c.assign(n, 0.0);
  std::vector<bool> is_open(n, true);
  Coefficients norms(n, 0.0);
  for (int pass = 0; pass < 2 && std::find(is_open.begin(), is_open.end(), true) != is_open.end(); ++pass) {
    FieldCoefficients c = dots_each(with_own, z);
    const ComplexCoefficients before = c.back();
    c.pop_back();
    for (size_t j = 0; j < size_t(k); ++j)
      for (size_t i = 0; i < n; ++i) {
        c[j][i] = is_open[i] && image2_[j][i] > 0 ? c[j][i] / image2_[j][i] : 0.0;
        overlap[j][i] += c[j][i];
      }
    Coefficients left;
    {
      const KeptColumns kept(z, Coefficients(is_open.begin(), is_open.end()), progress);
      left = subtract_each_norm2(z, c, earlier);
    }
    for (size_t i = 0; i < n; ++i)
      if (is_open[i]) norms[i] = left[i];
    for (size_t i = 0; i < n; ++i) is_open[i] = is_open[i] && norms[i] < least_kept * before[i].real();
    const int launches = launches_of(z, z, size_t(k) + 1) + launches_of(z, z, size_t(k));
    progress.cost.add_linear_algebra(z, 2 * k + 3, 8 * k + 6, launches, 2);
  }
  return norms;
}

/// Computes p_k = K r, and z_k = A p_k as it comes.
void Gcr::apply(int k, SpinorField& r, SolveProgress& progress) {
  const size_t step = size_t(k);
  make_room(k, r.rhs());
  if (K_)
    K_->apply(directions_[step], r, progress.cost);
  else
    copy(directions_[step], r);
  A_.apply(images_[step], directions_[step]);
  progress.cost.add_applications(A_, r.rhs(), 1);
  progress.cost.add_linear_algebra(r, 2, 0, 0, 0);
}

Gcr::Products Gcr::products(int k, const SpinorField& r, SolveProgress& progress) const {
  const SpinorField& z = images_[size_t(k)];
  FieldList all = first_of(images_, size_t(k) + 1);
  all.push_back(&r);
  FieldCoefficients c = dots_each(all, z);
  progress.cost.add_linear_algebra(z, k + 2, 8 * (k + 2), launches_of(z, z, all.size()), 1);
  Products found;
  for (const auto& overlap : c.back()) found.with_r.push_back(std::conj(overlap));
  for (const auto& own : c[size_t(k)]) found.norm2.push_back(own.real());
  c.resize(size_t(k));
  found.left = found.norm2;
  for (size_t j = 0; j < size_t(k); ++j)
    for (size_t i = 0; i < found.left.size(); ++i) {
      const double before = image2_[j][i];
      found.left[i] -= before > 0 ? std::norm(c[j][i]) / before : 0.0;
      c[j][i] = before > 0 ? c[j][i] / before : 0.0;
    }
  found.with_earlier = std::move(c);
  return found;
}

bool Gcr::step_with_one_sum(int k, SpinorField& r, SolveProgress& progress) {
  const size_t step = size_t(k), n = places_.size();
  apply(k, r, progress);
  SpinorField& z = images_[step];
  const FieldList earlier = first_of(images_, step);
  Products found = products(k, r, progress);
  overlap_[step] = found.with_earlier;
  if (k > 0) {
    subtract_each(z, found.with_earlier, earlier);
    std::vector<bool> is_open(n);
    for (size_t i = 0; i < n; ++i)
      is_open[i] = column(progress, i).is_active && !(found.left[i] >= least_difference * found.norm2[i]);
    if (std::find(is_open.begin(), is_open.end(), true) != is_open.end()) {
      Products again = products(k, r, progress);
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < step; ++j) {
          if (!is_open[i]) again.with_earlier[j][i] = 0;
          overlap_[step][j][i] += again.with_earlier[j][i];
        }
      subtract_each(z, again.with_earlier, earlier);
      for (size_t i = 0; i < n; ++i) {
        if (!is_open[i]) continue;
        // A vector that loses much once more lies in the space of the others but for rounding.
        const bool is_dependent = !(again.left[i] >= least_left_again * again.norm2[i]);
        found.left[i] = is_dependent ? 0 : again.left[i];
        found.with_r[i] = again.with_r[i];
      }
      progress.cost.add_linear_algebra(z, k + 2, 8 * k, launches_of(z, z, step), 0);
    }
    progress.cost.add_linear_algebra(z, k + 2, 8 * k, launches_of(z, z, step), 0);
  }
  image2_[step] = found.left;
  alpha_[step].assign(n, 0.0);
  Coefficients residual2(n);
  for (size_t i = 0; i < n; ++i) {
    const SolveColumn& own = column(progress, i);
    residual2[i] = own.residual2;
    if (!own.is_active) continue;
    if (!std::isfinite(found.norm2[i])) {
      progress.fail_all_not_finite(K_ ? &directions_[step] : nullptr);
      return false;
    }
    const std::complex<double> alpha = found.with_r[i] / found.left[i];
    if (found.left[i] > 0 && is_usable(alpha)) {
      alpha_[step][i] = alpha;
      residual2[i] = std::max(0.0, own.residual2 - std::norm(alpha) * found.left[i]);
    } else {
      progress.fail(int(places_[i]), StopReason::broke_down);
    }
  }
  combine(r, ComplexCoefficients(n, 1.0), r, negative(alpha_[step]), z);
  progress.cost.add_linear_algebra(r, 3, 8, 1, 0);
  record(residual2, progress);
  return true;
}

/// Does one step; returns false if the operator or the preconditioner returned NaN or Inf, and then x must
/// not see this step.
bool Gcr::step(int k, SpinorField& r, SolveProgress& progress) {
  if (has_one_sum_) return step_with_one_sum(k, r, progress);
  const size_t step = size_t(k), n = places_.size();
  apply(k, r, progress);
  image2_[step] = orthogonalise(k, progress);
  const ComplexCoefficients overlap = dot_each(images_[step], r);
  alpha_[step].assign(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    if (!column(progress, i).is_active) continue;
    if (!std::isfinite(image2_[step][i])) {
      progress.fail_all_not_finite(K_ ? &directions_[step] : nullptr);
      return false;
    }
    const std::complex<double> alpha = overlap[i] / image2_[step][i];
    if (image2_[step][i] > 0 && is_usable(alpha))
      alpha_[step][i] = alpha;
    else
      progress.fail(int(places_[i]), StopReason::broke_down);
  }
  record(combine_norm2(r, ComplexCoefficients(n, 1.0), r, negative(alpha_[step]), images_[step]), progress);
  progress.cost.add_linear_algebra(r, k == 0 ? 6 : 5, 16, k == 0 ? 3 : 2, k == 0 ? 3 : 2);
  return true;
}

/// Finds y by back substitution.
void Gcr::update_solution(int steps, SpinorField& x, SolveProgress& progress,
                          const std::vector<bool>& takes_part) const {
  const size_t n = size_t(x.rhs());
  std::vector<ComplexCoefficients> y(alpha_.begin(), alpha_.begin() + steps);
  for (size_t j = size_t(steps); j-- > 0;) {
    for (size_t i = 0; i < n; ++i) {
      if (!takes_part[i]) y[j][i] = 0;
      for (size_t k = j + 1; k < size_t(steps) && takes_part[i]; ++k) y[j][i] -= overlap_[k][j][i] * y[k][i];
    }
    add_to_active(x, y[j], directions_[j], progress);
  }
  progress.cost.add_linear_algebra(x, 3 * steps, 8 * steps, steps, 0);
}

bool Gcr::narrow(int steps, SpinorField& x, SpinorField& r, SolveProgress& progress) {
  std::vector<bool> is_done;
  std::vector<size_t> columns;
  for (size_t i = 0; i < places_.size(); ++i) {
    is_done.push_back(!column(progress, i).is_active);
    if (!is_done.back()) columns.push_back(i);
  }
  if (columns.empty() || double(places_.size() - columns.size()) < least_finished * double(places_.size()))
    return false;
  if (!launches_can_be_cut(x.spec().backend)) return false;  // many columns fill a GPU
  update_solution(steps, x, progress, is_done);
  FieldSpec spec = x.spec();
  spec.rhs = int(columns.size());
  SpinorField own_x(x.lattice_ptr(), spec), own_r(x.lattice_ptr(), spec);
  copy_some(own_x, x, columns);
  copy_some(own_r, r, columns);
  progress.cost.add_linear_algebra(own_x, 4 * steps + 8, 0, 0, 0);
  Gcr(*this, columns, steps).go_on(steps, own_x, own_r, progress);
  for (size_t i = 0; i < columns.size(); ++i) {
    copy_columns(x, int(columns[i]), own_x, int(i), 1);
    copy_columns(r, int(columns[i]), own_r, int(i), 1);
  }
  return true;
}

void Gcr::run(SpinorField& x, SpinorField& r, SolveProgress& progress) { go_on(0, x, r, progress); }

void Gcr::go_on(int steps, SpinorField& x, SpinorField& r, SolveProgress& progress) {
  while (true) {
    if (steps == 0) {
      before_.clear();
      for (size_t i = 0; i < places_.size(); ++i) before_.push_back(column(progress, i).residual2);
    }
    while (any_active(progress) && steps < restart_length_) {
      if (narrow(steps, x, r, progress)) return;
      if (!step(steps, r, progress)) break;
      ++steps;
    }
    update_solution(steps, x, progress, std::vector<bool>(places_.size(), true));
    for (size_t i = 0; i < places_.size(); ++i)
      if (column(progress, i).is_active && column(progress, i).residual2 > most_left_by_cycle * before_[i])
        progress.fail(int(places_[i]), StopReason::stagnated);
    if (!any_active(progress)) return;
    ++progress.restarts;
    steps = 0;
  }
}

namespace {
class GcrRecipe final : public KrylovRecipe {
 public:
  explicit GcrRecipe(GcrSpec spec) : spec_{std::move(spec)} {}
  std::string name(const LinearOperator& A) const override {
    return message("gcr(", spec_.restart_length, ")") + iterations_in_words() + spec_.preconditioner.words(A);
  }
  SolveLimits limits() const override { return limits_of(spec_); }
  SolverSpec limited(const SolveLimits& limits) const override { return with_limits(spec_, limits); }
  StagnationRule stagnation(bool) const override { return spec_.stagnation; }
  std::unique_ptr<KrylovMethod> make_method(const OperatorCopies& A, int columns, bool) const override {
    const int most = spec_.iterations > 0 ? spec_.iterations : spec_.max_iterations;
    Gcr::MakeInverse make_K;
    if (spec_.preconditioner)
      make_K = [K = spec_.preconditioner, &A](int of_batch) { return K.bind(A, of_batch); };
    return std::make_unique<Gcr>(*A, columns, std::min(spec_.restart_length, most), std::move(make_K),
                                 spec_.has_one_sum);
  }

 private:
  GcrSpec spec_;
};
}  // namespace

GcrSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<GcrRecipe>(*this)); }

extern const SolverMethod gcr_method{"gcr", [](const SolverParameters& p) -> SolverSpec {
                                       GcrSpec spec;
                                       p.take_limits(spec);
                                       p.take("restart_length", spec.restart_length);
                                       p.take("preconditioner", spec.preconditioner);
                                       return spec;
                                     }};

}  // namespace trellis
