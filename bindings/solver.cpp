/// Solver specs (values), solves and their reports.
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "schur_form.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/solver/even_odd_solve.hpp"

namespace trellis::bindings {

namespace {
/// A x = b through an even-odd form, or without one ("none").
SolveReport solve_through_form(const SolverSpec& spec, const LinearOperator& A, SpinorField& x,
                               const SpinorField& b, const std::string& form) {
  const auto run = [&](SpinorField& solution, const SpinorField& source) {
    if (const auto schur = schur_form_by_name(form))
      return solve_even_odd(spec, *require_schur(A, *schur), solution, source);
    return solve(spec, A, solution, source);
  };
  if (A.make_field(1).spec().backend == b.spec().backend) return run(x, b);
  SpinorField solution = A.make_field(b.rhs()), source = A.make_field(b.rhs());
  convert(source, b);
  convert(solution, x);
  const SolveReport report = run(solution, source);
  convert(x, solution);
  return report;
}
}  // namespace

void bind_solver(nb::module_& m) {
  nb::class_<CgSpec>(m, "CgSpec")
      .def(
          "__init__",
          [](CgSpec* self, double tolerance, int max_iterations, bool fallback) {
            new (self) CgSpec{tolerance, max_iterations, false, fallback};
          },
          "tolerance"_a, "max_iterations"_a, "fallback"_a);
  nb::class_<BicgstabSpec>(m, "BicgstabSpec")
      .def(
          "__init__",
          [](BicgstabSpec* self, double tolerance, int max_iterations, bool fallback) {
            new (self) BicgstabSpec{tolerance, max_iterations, false, fallback};
          },
          "tolerance"_a, "max_iterations"_a, "fallback"_a);
  nb::class_<GcrSpec>(m, "GcrSpec")
      .def(
          "__init__",
          [](GcrSpec* self, double tolerance, int max_iterations, int restart_length, bool fallback) {
            new (self) GcrSpec{tolerance, max_iterations, restart_length, false, fallback};
          },
          "tolerance"_a, "max_iterations"_a, "restart_length"_a, "fallback"_a);
  nb::class_<MrSpec>(m, "MrSpec")
      .def(
          "__init__",
          [](MrSpec* self, double tolerance, int max_iterations, double relaxation, bool fallback) {
            new (self) MrSpec{tolerance, max_iterations, relaxation, false, fallback};
          },
          "tolerance"_a, "max_iterations"_a, "relaxation"_a, "fallback"_a);
  nb::class_<MixedPrecisionSpec>(m, "MixedPrecisionSpec")
      .def(
          "__init__",
          [](MixedPrecisionSpec* self, const KrylovSpec& inner, const std::string& precision,
             double threshold) {
            new (self) MixedPrecisionSpec{inner, precision_by_name(precision), threshold};
          },
          "inner"_a, "precision"_a, "update_threshold"_a);

  nb::class_<SolveReport>(m, "SolveReport")
      .def_ro("method", &SolveReport::method)
      .def_ro("iterations", &SolveReport::iterations)
      .def_ro("relative_residual", &SolveReport::relative_residual)
      .def_ro("converged", &SolveReport::converged)
      .def_prop_ro("reason", [](const SolveReport& r) { return std::string(name_of(r.reason)); })
      .def_ro("reliable_updates", &SolveReport::reliable_updates)
      .def_ro("restarts", &SolveReport::restarts)
      .def_ro("seconds", &SolveReport::seconds)
      .def_ro("flops", &SolveReport::flops)
      .def_ro("conventional_flops", &SolveReport::conventional_flops)
      .def_ro("bytes", &SolveReport::bytes)
      .def_ro("history", &SolveReport::history)
      .def_prop_ro("stages",
                   [](const SolveReport& r) {
                     std::vector<std::string> texts;
                     for (const SolveStage& s : r.stages)
                       texts.push_back(message(s.method, ": ", name_of(s.reason), " after ", s.iterations,
                                               " iterations, residual ", s.residual));
                     return texts;
                   })
      .def_prop_ro("summary", &SolveReport::summary);
  m.def("with_history", &with_history, "solver"_a);
  m.def("solve", solve_through_form, "solver"_a, "A"_a, "x"_a, "b"_a, "even_odd"_a, release_gil());
}

}  // namespace trellis::bindings
