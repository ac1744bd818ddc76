// ranks: 1 2 4
/// Operators and solvers say what they cost, and this is what is sent, summed and launched.
#include <gtest/gtest.h>

#include "tests/support/all_quarks.hpp"
#include "tests/support/counted_costs.hpp"
#include "trellis/base/error.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/multi_shift_cg.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_costs {

using test::check_operator, test::check_solve, test::count, test::Counted, test::expect_cost;

/// Returns lattices whose ranks divide time alone, or other directions.
std::vector<LatticePtr> lattices() {
  const int ranks = world()->size();
  std::vector<LatticePtr> all{make_lattice({4, 2, 4, 16}, {1, 1, 1, ranks})};
  if (ranks == 2) all.push_back(make_lattice({8, 2, 8, 4}, {2, 1, 1, 1}));
  if (ranks == 4) all.push_back(make_lattice({8, 2, 8, 4}, {2, 1, 2, 1}));
  return all;
}

std::string words(const Lattice& lattice, const KernelChoice& choice) {
  return message("grid ", to_string(lattice.geometry().grid().extents()), ", ", name_of(choice.backend), ", ",
                 name_of(choice.precision), ":");
}

template <class F>
void for_each_choice(const F& f) {
  for (const LatticePtr& lattice : lattices())
    for (const Precision precision : all_precisions) f(lattice, KernelChoice{precision, 18, Backend::cpu, 0});
  for (const LatticePtr& lattice : lattices())  // GPUs launch these
    f(lattice, KernelChoice{Precision::single_precision, 18, Backend::gpu_emulated, 0});
}

TEST(Costs, of_wilson_clover_and_twisted_mass) {
  for_each_choice([](const LatticePtr& lattice, const KernelChoice& choice) {
    const GaugeField U(lattice);
    for (const double csw : {0.0, 1.5})
      for (const double twisted_mass : {0.0, 0.2}) {
        WilsonParams params;
        params.mass = 0.1;
        params.csw_spatial = params.csw_temporal = csw;
        params.twisted_mass = twisted_mass;
        const auto matrix = std::make_shared<WilsonMatrix>(U, params, choice);
        const std::string where = words(*lattice, choice);
        check_operator(WilsonOperator(matrix), where);
        check_operator(WilsonSchur(matrix, SchurForm::asymmetric), where);
        const auto S = std::make_shared<WilsonSchur>(matrix, SchurForm::symmetric);
        check_operator(*S, where);
        check_operator(NormalOperator(S), where);
        check_operator(ShiftedOperator(S, 0.5), where);
      }
  });
}

TEST(Costs, of_domain_walls) {
  for_each_choice([](const LatticePtr& lattice, const KernelChoice& choice) {
    const GaugeField U(lattice);
    DomainWallParams params;
    params.mass = 0.1;
    params.Ls = 4;
    const auto matrix = std::make_shared<DomainWallMatrix>(U, params, choice);
    const std::string where = words(*lattice, choice);
    check_operator(DomainWallOperator(matrix), where);
    for (const SchurForm form : {SchurForm::asymmetric, SchurForm::symmetric})
      check_operator(DomainWallSchur(matrix, form), where);
  });
}

TEST(Costs, of_staggered_and_hisq) {
  for_each_choice([](const LatticePtr& lattice, const KernelChoice& choice) {
    const GaugeField U(lattice);
    for (const bool is_improved : {false, true}) {
      const auto links = is_improved ? std::make_shared<StaggeredLinks>(U, U, -1.0 / 24, true, choice)
                                     : std::make_shared<StaggeredLinks>(U, choice);
      const auto matrix = std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.1, choice.precision);
      const std::string where = words(*lattice, choice) + (is_improved ? " improved" : "");
      check_operator(StaggeredOperator(matrix), where);
      const auto S = std::make_shared<StaggeredSchur>(matrix);
      check_operator(*S, where);
      check_operator(ShiftedOperator(S, 0.5), where);
    }
  });
}

/// Two hops through the lattice together, time slice after time slice, count as they do one after the other.
TEST(Costs, do_not_depend_on_how_passes_are_cut) {
  if (world()->size() > 2) GTEST_SKIP() << "too few time slices";
  const LatticePtr lattice = lattices().front();
  const HoppingTerm hop(GaugeField(lattice), WilsonParams{},
                        {Precision::double_precision, 18, Backend::cpu, 1});
  SpinorField even = hop.make_field(Subset::even, 1), odd = hop.make_field(Subset::odd, 1), out = even;
  for (const PassOrder order : {PassOrder::apart, PassOrder::in_slices, PassOrder::in_slices_read})
    expect_cost(count([&] { hop.apply_twice(out, odd, 0, even, {}, {}, {}, order); }), 2 * hop.hop_cost(1),
                lattice->geometry(), std::to_string(int(order)));
}

SpinorField point_source(const LinearOperator& A) {
  SpinorField b = A.make_field();
  std::vector<double> reals(size_t(b.reals()), 0.0);
  reals[0] = 1.0;
  if (world()->rank() == 0) b.set_site({0, 0, 0}, 0, reals.data());
  return b;
}

TEST(Costs, of_solves) {
  const LatticePtr lattice = lattices().front();
  const GaugeField U(lattice);
  WilsonParams params;
  params.mass = 0.1;
  const WilsonSchur S(std::make_shared<WilsonMatrix>(U, params, KernelChoice{}), SchurForm::symmetric);
  const StaggeredSchur K(
      std::make_shared<StaggeredMatrix>(std::make_shared<StaggeredLinks>(U), StaggeredPhases{}, 0.1));
  const SpinorField b = point_source(S), c = point_source(K);
  constexpr double out_of_reach = 1e-14;
  const CgSpec cg{out_of_reach, 7, false, false};
  for (const SolverSpec& spec :
       {SolverSpec(cg), SolverSpec(BicgstabSpec{out_of_reach, 7, false, false}),
        SolverSpec(GcrSpec{out_of_reach, 7, 4, false, false}), SolverSpec(MrSpec{out_of_reach, 7}),
        SolverSpec(MixedPrecisionSpec{cg, Precision::half_precision}),
        SolverSpec(GcrSpec{out_of_reach, 7, 4, false, false, 0, MrSpec{.iterations = 3}}),
        SolverSpec(BicgstabSpec{out_of_reach, 7, false, false, 0, MrSpec{.iterations = 3}})})
    check_solve(S, b, spec);
  check_solve(K, c, cg);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    std::vector<SpinorField> x(3, SpinorField::like(c));
    SolveReport report;
    const Counted found = count([&] {
      report = multi_shift_cg(std::make_shared<StaggeredSchur>(K.matrix()), {0.0, 0.1, 0.5}, x, c,
                              {.tolerance = 1e-9, .precision = precision});
    });
    EXPECT_TRUE(report.converged) << report.summary();
    expect_cost(found, report.cost, lattice->geometry(), report.method + name_of(precision));
  }
}

/// Sources, guesses, reconstructions, residuals of M x = b and corrections count, too.
TEST(Costs, of_whole_even_odd_solves) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 16}, {1, 1, 1, world()->size()});
  const CgSpec short_cg{1e-14, 7, false, false}, cg{1e-9, 500, false, false};
  for (const test::Quark& quark : test::all_quarks(GaugeField(lattice), 0.1)) {
    const SpinorField b = point_source(*quark.M);
    check_solve(*quark.M, b, EvenOddSpec{short_cg, quark.form});
    check_solve(*quark.M, b, EvenOddSpec{cg, quark.form});
    check_solve(*quark.M, b, EvenOddSpec{MixedPrecisionSpec{cg, Precision::single_precision}, quark.form});
    check_solve(*quark.M, b,
                GcrSpec{1e-14, 7, 4, false, false, 0, EvenOddSpec{MrSpec{.iterations = 3}, quark.form}});
  }
}

/// With a small mass and a source on odd sites one solve of the Schur complement is not enough.
TEST(Costs, of_corrections) {
  const Coord extents{4, 4, 4, 8};
  const LatticePtr lattice = make_lattice(extents, {1, 1, 1, world()->size()});
  const GaugeField U = test::to_product(lattice, test::random_gauge(extents, 7));
  const auto M = test::staggered_operator(std::make_shared<StaggeredLinks>(U), 0.0005);
  SpinorField b = M->make_field();
  const std::vector<double> reals{1, 0, 0, 0, 0, 0};
  if (world()->rank() == 0) b.set_site(b.layout().position({1, 0, 0, 0}), 0, reals.data());
  check_solve(*M, b, EvenOddSpec{CgSpec{1e-11, 5000, false, false}});
}

}  // namespace in_test_costs
}  // namespace trellis
