/// This section makes a few launches of each kind, for tools that count what they move and execute.
#include "bench/fields.hpp"
#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/glass/spin_glass.hpp"
#include "trellis/multigrid/galerkin.hpp"
#include "trellis/operator/hopping_term.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis::gpu_check {

namespace {
/// Makes each launch twice: the first one reads what copies and set-up left in the caches.
void twice(Section& section, const std::string& name, const std::function<void()>& launch) {
  section.run(name, [&] {
    launch();
    launch();
  });
}

void hops(Section& section, const GaugeField& U) {
  for (const Precision precision : all_precisions)
    for (const int columns : {1, 12}) {
      const HoppingTerm hop(U, WilsonParams{}, KernelChoice{precision, 12, Backend::cuda, 0});
      SpinorField in = hop.make_field(Subset::even, columns), out = hop.make_field(Subset::odd, columns);
      fill(in);
      HopTask task;
      task.columns_per_thread = columns > 1 ? 4 : 1;  // this leaves no trial of shapes
      twice(section, message("Wilson, ", name_of(precision), ", ", columns, " columns"),
            [&] { hop.apply(out, 1, in, task); });
    }
}

void coarse_operator(Section& section, const GaugeField& U) {
  const auto matrix = std::make_shared<WilsonMatrix>(
      U, WilsonParams{.mass = 0.1}, KernelChoice{Precision::single_precision, 18, Backend::cuda, 0});
  SpinorField vectors = WilsonOperator(matrix).make_field(is_simulated() ? 4 : 20);
  fill(vectors);
  Prolongator P(vectors, is_simulated() ? Coord{2, 2, 2, 2} : Coord{4, 4, 4, 4}, vectors.rhs());
  copy(P.columns(), vectors);
  const CoarseMatrixPtr coarse = galerkin_product(*matrix, P);
  for (const int columns : {1, 12}) {
    SiteField in = P.make_coarse_field(columns), out = SiteField::like(in);
    fill(in);
    twice(section, message("coarse operator, ", columns, " columns"),
          [&] { coarse->multiply_all(out, in, false); });
    SpinorField fine = WilsonOperator(matrix).make_field(columns);
    twice(section, message("prolongation and restriction, ", columns, " columns"), [&] {
      P.prolong_to(fine, in);
      P.restrict_to(out, fine);
    });
  }
}

void spin_glass(Section& section, int L) {
  SpinGlass glass(make_lattice({4 * L, 4 * L, L, 1}), {.backend = Backend::cuda});
  glass.draw_all_couplings(CouplingKind::plus_minus, 1, 0);
  glass.heat_bath({1.0}, 1, 0, 0);
  twice(section, "over-relaxation", [&] { glass.over_relax(1); });
}
}  // namespace

void measure_counters(Section& section, const std::vector<int>& extents) {
  const int L = extents.front();
  GaugeField U(make_lattice({L, L, L, L}));
  bench::fill_random_su3(U, 1);
  hops(section, U);
  SpinorField x(U.lattice_ptr(), {.subset = Subset::even, .rhs = 12, .backend = Backend::cuda});
  fill(x);
  twice(section, "norm", [&] { (void)norm2_each(x); });
  twice(section, "combine", [&] { combine(x, Coefficients(12, 0.75), x, Coefficients(12, 0.125), x); });
  const GaugeField V = U.on(Backend::cuda);
  AlgebraField force(V);
  twice(section, "force", [&] { add_force(force, GaugeAction::symanzik(6.0), V, 0.01); });
  section.run("coarse operator", [&] { coarse_operator(section, U); });
  spin_glass(section, L);
}

}  // namespace trellis::gpu_check
