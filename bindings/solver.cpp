/// Python gets solver values by name and parameters here, solves and their reports.
#include "bindings.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solve_watch.hpp"
#include "trellis/solver/solver_methods.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis::bindings {

namespace {
using Parameters = std::map<std::string, SolverParameters::Value>;

/// Reads a value of a solver's parameter: a solver or a pair (solver, operator) is a preconditioner as it
/// stands.
SolverParameters::Value parameter(const std::string& name, nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<SolverSpec>(value)) return nb::cast<SolverSpec>(value);
  if (nb::isinstance<LinearOperator>(value))
    return Preconditioner(LinearOperatorPtr(nb::cast<std::shared_ptr<LinearOperator>>(value)));
  if (nb::isinstance<Prepared>(value)) return PreparedPtr(nb::cast<std::shared_ptr<Prepared>>(value));
  if (nb::isinstance<nb::tuple>(value) && nb::len(value) == 2)
    return Preconditioner(SolverOfOperator{nb::cast<SolverSpec>(value[0]),
                                           nb::cast<std::shared_ptr<LinearOperator>>(value[1])});
  throw BadArgument(message("the solver's ", name, " is of an unknown kind"));
}

SolverSpec solver_of(const std::string& method, const nb::dict& values) {
  Parameters parameters;
  for (const auto& [key, value] : values) {
    const std::string name = nb::cast<std::string>(key);
    parameters.emplace(name, parameter(name, value));
  }
  return solver_by_name(method, std::move(parameters));
}

/// Solves A x = b for fields on the host.
SolveReport solve_on_host_fields(const SolverSpec& spec, const LinearOperator& A, SpinorField& x,
                                 const SpinorField& b) {
  if (A.make_field(1).spec().backend == b.spec().backend) return solve(spec, A, x, b);
  SpinorField solution = A.make_field(b.rhs()), source = A.make_field(b.rhs());
  convert(source, b);
  convert(solution, x);
  const SolveReport report = solve(spec, A, solution, source);
  convert(x, solution);
  return report;
}
}  // namespace

void bind_solver(nb::module_& m) {
  nb::class_<SolverSpec>(m, "SolverSpec")
      .def("with_history", &SolverSpec::with_history)
      .def_prop_ro("tolerance", [](const SolverSpec& s) { return s.limits().tolerance; })
      .def(
          "name", [](const SolverSpec& s, const LinearOperator& A) { return s->name(A); }, "A"_a);
  m.def("solver", solver_of, "method"_a, "parameters"_a);

  nb::class_<SolveReport>(m, "SolveReport")
      .def_ro("method", &SolveReport::method)
      .def_ro("iterations", &SolveReport::iterations)
      .def_ro("relative_residual", &SolveReport::relative_residual)
      .def_ro("converged", &SolveReport::converged)
      .def_prop_ro("reason", [](const SolveReport& r) { return std::string(name_of(r.reason)); })
      .def_ro("restarts", &SolveReport::restarts)
      .def_ro("seconds", &SolveReport::seconds)
      .def_ro("cost", &SolveReport::cost)
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
  m.def("solve", solve_on_host_fields, "solver"_a, "A"_a, "x"_a, "b"_a, release_gil());
  m.def(
      "look_at_solve",
      [] {
        const SolveMoment found = look_at_solve();
        return std::pair(found.iterations, found.residual);
      },
      "Iterations and residual of the solve under way, if it records its history.");
  m.def("forget_solve", forget_solve, "A new solve begins.");
}

}  // namespace trellis::bindings
