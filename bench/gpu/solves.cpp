/// This section times solves on the GPU.
#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::gpu_check {

namespace {
constexpr double tolerance = 1e-9;

struct Solved {
  SolveReport report;
  cuda::Activity spent;
  std::vector<double> solution;
};

/// Times the second of two solves: the first one allocates.
Solved solve_on(const LinearOperatorPtr& A, Precision inner, int columns, bool wants_solution) {
  SpinorField b = A->make_field(columns);
  fill(b);
  const bool is_mixed = inner != Precision::double_precision;
  const OperatorCopies copies(A);
  const SolverSpec spec =
      is_mixed ? SolverSpec(MixedPrecisionSpec{CgSpec{tolerance}, inner}) : SolverSpec(CgSpec{tolerance});
  SpinorField x = SpinorField::like(b);
  (void)solve(spec, copies, x, b);
  x = SpinorField::like(b);
  const cuda::Activity before = cuda::activity();
  const SolveReport report = solve(spec, copies, x, b);
  return {report, cuda::activity_since(before), wants_solution ? numbers(x) : std::vector<double>{}};
}

void print_solve(Section& section, const std::string& name, const Coord& lattice, Precision inner,
                 int columns, const Solved& solved, const std::string& bits) {
  const SolveReport& report = solved.report;
  section.print(Row()
                    .text("solve", name)
                    .text("lattice", to_string(lattice))
                    .text("inner storage", name_of(inner))
                    .count("columns", columns)
                    .count("iterations", report.iterations)
                    .number("seconds", report.seconds)
                    .number("us an iteration", report.seconds / report.iterations * 1e6)
                    .number("kernels an iteration", double(solved.spent.kernels) / report.iterations, 3)
                    .number("waits an iteration", double(solved.spent.waits) / report.iterations, 3)
                    .number("MB copied", double(solved.spent.copied_bytes) * 1e-6, 3)
                    .number("TF/s", report.cost.flops / report.seconds * 1e-12, 3)
                    .number("GB/s", report.cost.bytes / report.seconds * 1e-9)
                    .number("of copy rate", section.of_copy_rate(report.cost.bytes / report.seconds), 2)
                    .number("residual", report.largest_residual(), 2)
                    .text("to CPU", bits.empty() ? "-" : bits));
}

void solve_case(Section& section, const std::string& name, const Geometry& geometry, Precision inner,
                int columns, const std::function<LinearOperatorPtr(Backend)>& make) {
  const std::string what = message(name, ", ", name_of(inner), ", ", columns, " columns");
  section.run(what, [&] {
    const bool is_compared = section.is_compared(geometry);
    const Solved gpu = solve_on(make(Backend::cuda), inner, columns, is_compared);
    if (!(gpu.report.largest_residual() <= 2 * tolerance))
      throw Error(
          message("the residual is ", gpu.report.largest_residual(), " where ", tolerance, " is asked for"));
    std::string bits;
    if (is_compared)
      bits = compared(section, what, gpu.solution,
                      solve_on(make(Backend::cpu), inner, columns, true).solution, 1e-6);
    print_solve(section, name, geometry.lattice(), inner, columns, gpu, bits);
  });
}
}  // namespace

void measure_solves(Section& section, const std::vector<int>& extents) {
  for (const int L : extents) {
    GaugeField U(make_lattice({L, L, L, L}));
    const uint32_t updates = L > 16 ? 1 : 4;  // the host makes them
    for (uint32_t update = 0; update < updates; ++update) heatbath_update(U, {6.0, 1, 3}, 1, 0, update);
    const auto wilson = [&](Backend backend) -> LinearOperatorPtr {
      WilsonParams params;
      params.mass = 0.1;
      const auto matrix = std::make_shared<WilsonMatrix>(
          U, params, KernelChoice{Precision::double_precision, 12, backend, 0});
      return std::make_shared<NormalOperator>(std::make_shared<WilsonSchur>(matrix, SchurForm::symmetric));
    };
    const auto staggered = [&](Backend backend) -> LinearOperatorPtr {
      KernelChoice choice;
      choice.link_reals = 12;
      choice.backend = backend;
      const auto links = std::make_shared<StaggeredLinks>(U, choice);
      return std::make_shared<StaggeredSchur>(
          std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.1));
    };
    for (const Precision inner : all_precisions)
      solve_case(section, "CG, Wilson", U.geometry(), inner, 1, wilson);
    for (const Precision inner : {Precision::double_precision, Precision::single_precision})
      solve_case(section, "CG, staggered", U.geometry(), inner, 1, staggered);
    for (const Precision inner : {Precision::double_precision, Precision::single_precision})
      solve_case(section, "CG, Wilson", U.geometry(), inner, 12, wilson);
  }
}

}  // namespace trellis::gpu_check
