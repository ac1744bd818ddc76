#include "trellis/solver/solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trellis/base/error.hpp"
#include "trellis/solver/batches.hpp"
#include "trellis/solver/bicgstab.hpp"
#include "trellis/solver/conjugate_gradient.hpp"
#include "trellis/solver/eigen/deflated_solve.hpp"
#include "trellis/solver/gcr.hpp"
#include "trellis/solver/minimal_residual.hpp"
#include "trellis/solver/residual_correction.hpp"

namespace trellis {

namespace {

/// How far the residual drops between two computations in double. CG keeps its direction, and its count of
/// iterations hardly depends on this (condition number 10^4 to 1e-10: 1060 in double, 1165 to 1180 in float,
/// 1300 to 1330 in half for thresholds from 0.1 to 0.001; domain walls of 8^4, Ls = 8: 232 in double, in half
/// 240, 253 and 271 for 0.1, 0.03 and 0.01); the others begin anew and want few updates.
double default_threshold(bool is_cg, Precision precision) {
  if (precision == Precision::fp16_precision) return 0.1;
  if (precision == Precision::half_precision) return is_cg ? 0.03 : 0.01;
  return is_cg ? 1e-2 : 1e-4;
}

struct InnerMethod {
  std::unique_ptr<KrylovMethod> method;
  std::string name;
};

InnerMethod make_method(const CgSpec&, const LinearOperator& A, int rhs) {
  const CgForm form = A.is_hermitian() ? CgForm::hermitian : CgForm::normal_equations;
  return {std::make_unique<ConjugateGradient>(A, rhs, form, true),
          form == CgForm::hermitian ? "cg" : "cg on the normal equations"};
}
InnerMethod make_method(const BicgstabSpec&, const LinearOperator& A, int rhs) {
  return {std::make_unique<Bicgstab>(A, rhs), "bicgstab"};
}
InnerMethod make_method(const GcrSpec& spec, const LinearOperator& A, int rhs) {
  return {std::make_unique<Gcr>(A, rhs, std::min(spec.restart_length, spec.max_iterations)),
          message("gcr(", spec.restart_length, ")")};
}
InnerMethod make_method(const MrSpec& spec, const LinearOperator& A, int rhs) {
  return {std::make_unique<MinimalResidual>(A, rhs, spec.relaxation), "mr"};
}

SolveReport run(const CgSpec& spec, const LinearOperator& A, const LinearOperatorPtr&, SpinorField& x,
                const SpinorField& b) {
  return A.is_hermitian() ? conjugate_gradient(A, x, b, spec) : conjugate_gradient_normal(A, x, b, spec);
}
SolveReport run(const BicgstabSpec& spec, const LinearOperator& A, const LinearOperatorPtr&, SpinorField& x,
                const SpinorField& b) {
  return bicgstab(A, x, b, spec);
}
SolveReport run(const GcrSpec& spec, const LinearOperator& A, const LinearOperatorPtr&, SpinorField& x,
                const SpinorField& b) {
  return gcr(A, x, b, spec);
}
SolveReport run(const MrSpec& spec, const LinearOperator& A, const LinearOperatorPtr&, SpinorField& x,
                const SpinorField& b) {
  return minimal_residual(A, x, b, spec);
}
SolveReport run(const MixedPrecisionSpec& spec, const LinearOperator& A, const LinearOperatorPtr& inner,
                SpinorField& x, const SpinorField& b) {
  return solve_mixed_precision(spec, A, inner, x, b);
}
SolveReport run(const DeflatedSpec& spec, const LinearOperator& A, const LinearOperatorPtr& inner,
                SpinorField& x, const SpinorField& b) {
  return solve_deflated(spec, A, inner, x, b);
}

}  // namespace

namespace {
/// f(spec of the innermost method)
template <class Spec, class F>
auto visit_method(Spec& spec, const F& f) {
  using Plain = std::remove_const_t<Spec>;
  const auto deeper = [&](auto& inside) { return visit_method(inside, f); };
  if constexpr (std::is_same_v<Plain, MixedPrecisionSpec>)
    return std::visit(deeper, spec.inner);
  else if constexpr (std::is_same_v<Plain, DeflatedSpec>)
    return std::visit(deeper, spec.solver);
  else
    return f(spec);
}
template <class F>
SolverSpec with_method(SolverSpec spec, const F& change) {
  std::visit([&](auto& s) { visit_method(s, change); }, spec);
  return spec;
}
}  // namespace

double tolerance_of(const SolverSpec& spec) {
  return std::visit(
      [](const auto& s) { return visit_method(s, [](const auto& method) { return method.tolerance; }); },
      spec);
}

SolverSpec with_tolerance(SolverSpec spec, double tolerance) {
  return with_method(std::move(spec), [&](auto& method) { method.tolerance = tolerance; });
}

SolverSpec with_history(SolverSpec spec) {
  return with_method(std::move(spec), [](auto& method) { method.records_history = true; });
}

std::optional<Precision> inner_precision(const SolverSpec& spec) {
  if (const auto* mixed = std::get_if<MixedPrecisionSpec>(&spec)) return mixed->precision;
  if (const auto* deflated = std::get_if<DeflatedSpec>(&spec))
    if (const auto* mixed = std::get_if<MixedPrecisionSpec>(&deflated->solver)) return mixed->precision;
  return std::nullopt;
}

namespace {

/// One stage: no fallback.
SolveReport solve_stage(const SolverSpec& spec, const LinearOperator& A, SpinorField& x, const SpinorField& b,
                        const LinearOperatorPtr& inner) {
  LinearOperatorPtr low = inner;
  if (const auto precision = inner_precision(spec); precision && !low)
    low = A.converted(*precision);  // once for all batches
  if (const auto* deflated = std::get_if<DeflatedSpec>(&spec)) {
    TRELLIS_REQUIRE(deflated->vectors != nullptr, "a deflated solver needs eigenvectors");
    deflated->vectors->require_belong_to(A);
  }
  const int size = b.rhs() > 1 ? columns_per_batch(low ? *low : A) : 1;
  return solve_in_batches(size, x, b, [&](SpinorField& part_x, const SpinorField& part_b) {
    return std::visit([&](const auto& s) { return run(s, A, low, part_x, part_b); }, spec);
  });
}

/// Conjugate gradients with the limits of a method.
template <class Method>
CgSpec cg_like(const Method& m) {
  return {m.tolerance, m.max_iterations, m.records_history, m.fallback};
}

/// The next surer solver: CG in the same storage, then in the next wider one; none beyond CG in double.
template <class Method>
std::optional<SolverSpec> surer(const Method& spec) {
  if constexpr (std::is_same_v<Method, CgSpec>)
    return std::nullopt;
  else
    return cg_like(spec);
}
std::optional<SolverSpec> surer(const MixedPrecisionSpec& spec) {
  const CgSpec cg = std::visit([](const auto& m) { return cg_like(m); }, spec.inner);
  if (!std::holds_alternative<CgSpec>(spec.inner)) return MixedPrecisionSpec{cg, spec.precision};
  if (is_16_bit(spec.precision)) return MixedPrecisionSpec{cg, Precision::single_precision};
  return cg;
}
std::optional<SolverSpec> surer(const DeflatedSpec& spec) {
  const auto inside = std::visit([](const auto& s) { return surer(s); }, spec.solver);
  if (!inside) return std::nullopt;
  DeflatedSpec result = spec;
  std::visit(
      [&](const auto& s) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(s)>, DeflatedSpec>) result.solver = s;
      },
      *inside);
  return result;
}

bool falls_back(const SolverSpec& spec) {
  return std::visit(
      [](const auto& s) { return visit_method(s, [](const auto& method) { return method.fallback; }); },
      spec);
}

bool got_stuck(const SolveReport& report) {
  return report.reason == StopReason::stagnated || report.reason == StopReason::broke_down ||
         report.reason == StopReason::not_finite;
}

}  // namespace

SolveReport solve(const SolverSpec& spec, const LinearOperator& A, SpinorField& x, const SpinorField& b,
                  const LinearOperatorPtr& inner) {
  SolveReport report = solve_stage(spec, A, x, b, inner);
  SolverSpec now = spec;
  while (got_stuck(report) && falls_back(spec)) {
    const auto next = std::visit([](const auto& s) { return surer(s); }, now);
    if (!next) break;
    if (report.stages.empty()) report.stages.push_back(report.stage());
    SolveReport further =
        solve_stage(*next, A, x, b, inner_precision(*next) == inner_precision(spec) ? inner : nullptr);
    further.stages.push_back(further.stage());
    further.continues(report);
    report = std::move(further);
    now = *next;
  }
  return report;
}

SolveReport solve_mixed_precision(const MixedPrecisionSpec& spec, const LinearOperator& A,
                                  const LinearOperatorPtr& inner, SpinorField& x, const SpinorField& b) {
  TRELLIS_REQUIRE(spec.update_threshold >= 0 && spec.update_threshold < 1,
                  "the update threshold of a mixed-precision solver lies between 0 and 1, not ",
                  spec.update_threshold);
  const LinearOperatorPtr low = inner ? inner : A.converted(spec.precision);
  TRELLIS_REQUIRE(low->make_field(1).precision() == spec.precision, "the inner operator is stored in ",
                  name_of(low->make_field(1).precision()), ", the solver's spec says ",
                  name_of(spec.precision));
  TRELLIS_REQUIRE(low->is_hermitian() == A.is_hermitian(), "inner and outer operator (", low->name(), ", ",
                  A.name(), ") differ in hermiticity");
  const bool is_cg = std::holds_alternative<CgSpec>(spec.inner);
  const double threshold =
      spec.update_threshold > 0 ? spec.update_threshold : default_threshold(is_cg, spec.precision);
  return std::visit(
      [&](const auto& inner_spec) {
        const InnerMethod method = make_method(inner_spec, *low, b.rhs());
        const CorrectionParams params{.tolerance = inner_spec.tolerance,
                                      .max_iterations = inner_spec.max_iterations,
                                      .records_history = inner_spec.records_history,
                                      .stagnation = is_cg ? low_storage_cg : unsure_method,
                                      .reduction_per_run = is_cg ? 0.0 : threshold,
                                      .update_threshold = is_cg ? threshold : 0.0,
                                      .is_threshold_adapted = spec.update_threshold == 0};
        SolveReport report = correct_residual(A, *low, *method.method, x, b, params);
        report.method = message(method.name, ", ", name_of(spec.precision), " inside");
        return report;
      },
      spec.inner);
}

std::vector<double> relative_residual(const LinearOperator& A, const SpinorField& x, const SpinorField& b) {
  SpinorField r = SpinorField::like(b);
  A.apply(r, x);
  combine(r, Coefficients(size_t(b.rhs()), 1.0), b, Coefficients(size_t(b.rhs()), -1.0), r);
  const Coefficients residual = norm_each(r), norm = norm_each(b);
  std::vector<double> relative;
  for (size_t i = 0; i < norm.size(); ++i) {
    if (norm[i] > 0)
      relative.push_back(residual[i] / norm[i]);
    else
      relative.push_back(residual[i] == 0 ? 0.0 : std::numeric_limits<double>::infinity());
  }
  return relative;
}

}  // namespace trellis
