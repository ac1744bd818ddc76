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
/// The tolerance of the innermost method.
template <class Spec>
auto& tolerance_in(Spec& spec) {
  using Plain = std::remove_const_t<Spec>;
  if constexpr (std::is_same_v<Plain, MixedPrecisionSpec>)
    return std::visit(
        [](auto& s) -> auto& { return s.tolerance; }, spec.inner);
  else if constexpr (std::is_same_v<Plain, DeflatedSpec>)
    return std::visit(
        [](auto& s) -> auto& { return tolerance_in(s); }, spec.solver);
  else
    return spec.tolerance;
}
}  // namespace

double tolerance_of(const SolverSpec& spec) {
  return std::visit([](const auto& s) { return tolerance_in(s); }, spec);
}

SolverSpec with_tolerance(SolverSpec spec, double tolerance) {
  std::visit([&](auto& s) { tolerance_in(s) = tolerance; }, spec);
  return spec;
}

std::optional<Precision> inner_precision(const SolverSpec& spec) {
  if (const auto* mixed = std::get_if<MixedPrecisionSpec>(&spec)) return mixed->precision;
  if (const auto* deflated = std::get_if<DeflatedSpec>(&spec))
    if (const auto* mixed = std::get_if<MixedPrecisionSpec>(&deflated->solver)) return mixed->precision;
  return std::nullopt;
}

SolveReport solve(const SolverSpec& spec, const LinearOperator& A, SpinorField& x, const SpinorField& b,
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
        const CorrectionParams params{inner_spec.tolerance,       inner_spec.max_iterations,
                                      inner_spec.records_history, is_cg ? 0.0 : threshold,
                                      is_cg ? threshold : 0.0,    spec.update_threshold == 0};
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
