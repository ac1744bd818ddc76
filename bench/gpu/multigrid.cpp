/// This section times multigrid at a light mass: set-up and solves beside CG and BiCGStab, and the coarse
/// operator.
#include "trellis/multigrid/multigrid.hpp"
#include "bench/fields.hpp"
#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/multigrid/cycle.hpp"
#include "trellis/multigrid/prolongator.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_recipe.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::gpu_check {

namespace {
constexpr double tolerance = 1e-9;
constexpr int updates = 24, vectors = 20, sweeps = 2;

using OperatorPtr = std::shared_ptr<WilsonOperator>;

/// Makes clover quarks on a quenched field at beta = 6.0, where kappa = .1350 is close to its critical value,
/// .1352 (M. Luescher, S. Sint, R. Sommer, P. Weisz, U. Wolff, hep-lat/9609035).
OperatorPtr light_quark(int extent) {
  GaugeField U = GaugeField(make_lattice({extent, extent, extent, extent})).on(Backend::cuda);
  for (uint32_t update = 0; update < (is_simulated() ? 2 : updates); ++update)
    heatbath_update(U, {6.0, 1, 3}, 1, 0, update);
  WilsonParams params;
  params.mass = is_simulated() ? 0.1 : 1 / (2 * 0.1350) - 4;
  params.csw_spatial = params.csw_temporal = 1.769;
  return std::make_shared<WilsonOperator>(U, params,
                                          KernelChoice{Precision::double_precision, 12, Backend::cuda, 0});
}

/// The host waits for sums in the smoother and in coarse solves: what a part has launched before may end in
/// the next one.
void print_parts(Section& section, const Multigrid& multigrid, const MultigridProfile& before, int columns,
                 const SolveReport& report) {
  const MultigridProfile& now = multigrid.profile();
  const double cycles = double(now.cycles - before.cycles);
  section.print(
      Row()
          .text("milliseconds of a cycle", "multigrid")
          .text("lattice", to_string(multigrid.hierarchy().lattice(0)->extents()))
          .count("columns", columns)
          .number("all", 1e3 * report.seconds / cycles)
          .number("smoother", 1e3 * (now.smoother.seconds - before.smoother.seconds) / cycles)
          .number("residual", 1e3 * (now.residual.seconds - before.residual.seconds) / cycles)
          .number("P and its adjoint", 1e3 * (now.transfer.seconds - before.transfer.seconds) / cycles)
          .number("coarse solve", 1e3 * (now.coarse.seconds - before.coarse.seconds) / cycles)
          .number("coarse operators", multigrid.coarsest_applications(), 3));
}

/// Times the second of two solves: the first one allocates and tries shapes of launches.
/// @param multigrid has the parts of the solve; it may be null
void solve_case(Section& section, const std::string& name, const WilsonOperator& M, int columns,
                const SolverSpec& spec, const Multigrid* multigrid = nullptr) {
  section.run(message(name, ", ", columns, " columns"), [&] {
    SpinorField b = M.make_field(columns), x = SpinorField::like(b);
    fill(b);
    const OperatorCopies copies{LinearOperatorPtr(std::make_shared<WilsonOperator>(M))};
    (void)solve(spec, copies, x, b);
    x = SpinorField::like(b);
    const MultigridProfile before = multigrid ? multigrid->profile() : MultigridProfile{};
    const SolveReport report = solve(spec, copies, x, b);
    if (!(report.largest_residual() <= 2 * tolerance))
      throw Error(
          message("the residual is ", report.largest_residual(), " where ", tolerance, " is asked for"));
    const double rate = report.cost.bytes / report.seconds;
    section.print(Row()
                      .text("solve of light quarks", name)
                      .text("lattice", to_string(M.domain_lattice()->extents()))
                      .count("columns", columns)
                      .number("seconds of set-up", multigrid ? multigrid->report().seconds : 0)
                      .count("iterations", report.iterations)
                      .number("seconds", report.seconds)
                      .number("seconds a column", report.seconds / columns)
                      .number("GB/s", rate * 1e-9)
                      .number("of copy rate", section.of_copy_rate(rate), 2)
                      .number("residual", report.largest_residual(), 2));
    if (multigrid) print_parts(section, *multigrid, before, columns, report);
  });
}

void coarse_operators(Section& section, const CoarseMatrixPtr& coarse, const Coord& lattice) {
  for (const Precision storage : {Precision::single_precision, Precision::half_precision})
    for (const int columns : {1, 4, 12}) {
      section.run(message("coarse operator, ", name_of(storage), ", ", columns, " columns"), [&] {
        const CoarseOperator D(coarse->stored_in(storage));
        SiteField in = D.make_field(columns), out = SiteField::like(in);
        fill(in);
        const Times times = time_of([&] { D.apply(out, in); });
        section.print(row_of(section, message("coarse operator, ", coarse->vectors(), " vectors"), lattice,
                             storage, 0, columns, times, D.cost(columns).flops, D.cost(columns).bytes, ""));
      });
    }
}
void transfers(Section& section, const Multigrid& multigrid, const Coord& lattice) {
  const Prolongator& P = multigrid.prolongator();
  for (const int columns : {1, 12})
    section.run(message("P and its adjoint, ", columns, " columns"), [&] {
      SpinorField fine = multigrid.fine()->make_field(columns);
      SiteField coarse = P.make_coarse_field(columns);
      fill(fine);
      const Cost cost = P.transfer_cost(columns);
      const auto print = [&](const std::string& kernel, const Times& times) {
        section.print(row_of(section, kernel, lattice, P.precision(), 0, columns, times, cost.flops / 2,
                             cost.bytes / 2, ""));
      };
      print("adjoint of P", time_of([&] { P.restrict_to(coarse, fine); }));
      print("P", time_of([&] { P.prolong_to(fine, coarse); }));
    });
}

/// Times the smoother, and the coarse solve of the cycle.
void smoothers(Section& section, const Multigrid& multigrid, const Coord& lattice) {
  const MultigridParams& params = multigrid.params();
  for (const int columns : {1, 12})
    section.run(message("smoother, ", columns, " columns"), [&] {
      const auto method =
          smoother(params, params.smoothing, *params.smoother_storage)->inside(multigrid.fine(), columns);
      SpinorField r = multigrid.fine()->make_field(columns), z = SpinorField::like(r);
      fill(r);
      SolveCost cost;
      method->apply(z, r, cost);
      const Times times = time_of([&] {
        SolveCost of_rounds;
        method->apply(z, r, of_rounds);
      });
      section.print(row_of(section, message("smoother mr, ", params.smoothing, " steps"), lattice,
                           *params.smoother_storage, 0, columns, times, cost.flops, cost.bytes, ""));
    });
}
}  // namespace

void measure_multigrid(Section& section, const std::vector<int>& extents) {
  for (const int L : extents) {
    OperatorPtr M;
    MultigridPtr multigrid;
    section.run(message("set-up of multigrid on ", L, "^4"), [&] {
      M = light_quark(L);
      MultigridParams params;
      params.vectors = is_simulated() ? 4 : vectors;
      params.sweeps = sweeps;
      multigrid = Multigrid::make(*M, params);
      const MultigridSetupReport& report = multigrid->report();
      section.print(Row()
                        .text("set-up", "multigrid, smoother mr")
                        .text("lattice", to_string(M->domain_lattice()->extents()))
                        .count("vectors", params.vectors)
                        .count("sweeps", params.sweeps)
                        .number("seconds", report.seconds)
                        .number("smoothing", report.seconds_of_smoothing)
                        .number("sweeps with the cycle", report.seconds_of_sweeps)
                        .number("orthonormalisation", report.seconds_of_orthonormalisation)
                        .number("coarse operator", report.seconds_of_coarse_operator)
                        .number("residual of the vectors", report.residual.back(), 3));
    });
    if (!multigrid) return;
    coarse_operators(section, multigrid->coarse(), multigrid->hierarchy().lattice(1)->extents());
    transfers(section, *multigrid, multigrid->hierarchy().lattice(0)->extents());
    smoothers(section, *multigrid, multigrid->hierarchy().lattice(0)->extents());
    for (const int columns : {1, 12}) {
      solve_case(section, "multigrid", *M, columns,
                 MultigridSpec{.multigrid = multigrid, .tolerance = tolerance, .fallback = false},
                 multigrid.get());
      solve_case(
          section, "BiCGStab in float", *M, columns,
          EvenOddSpec{MixedPrecisionSpec{BicgstabSpec{.tolerance = tolerance}, Precision::single_precision}});
      solve_case(
          section, "CG in float", *M, columns,
          EvenOddSpec{MixedPrecisionSpec{CgSpec{.tolerance = tolerance}, Precision::single_precision}});
    }
  }
}

}  // namespace trellis::gpu_check
