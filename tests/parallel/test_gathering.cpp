// ranks: 1 2 4 8
/// A coarse lattice on fewer ranks has the bits of one process and costs as stated, and the ranks without it
/// sleep.
#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "tests/support/counted_costs.hpp"
#include "tests/support/on_one_rank.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/clock.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/comm/sleeping_wait.hpp"
#include "trellis/multigrid/gathering.hpp"
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_gathering {

/// The second problem has local extents of 4 on 8 ranks: a rank has one or two aggregates of 4^4.
struct Problem {
  Coord extents, block;
};
const Problem problems[] = {{{8, 4, 4, 8}, {2, 2, 2, 2}}, {{8, 8, 8, 8}, {4, 4, 4, 4}}};

WilsonOperator operator_on(const LatticePtr& lattice, const Problem& problem) {
  WilsonParams params{.mass = 0.05, .csw_spatial = 1.0, .csw_temporal = 1.0};
  return {test::to_product(lattice, test::random_gauge(problem.extents, 31, 0.3)), params};
}

MultigridParams params_of(const Problem& problem, CoarseSolver solver, int ranks) {
  MultigridParams p;
  p.block = problem.block;
  p.vectors = 6;
  p.sweeps = 1;
  p.coarse_modes = 3;
  p.coarse_solver = solver;
  p.coarse_ranks = ranks;
  return p;
}

std::vector<double> solution(const WilsonOperator& M, const Problem& problem, const MultigridParams& params) {
  const MultigridPtr multigrid = Multigrid::make(M, params);
  SpinorField b = M.make_field(2), x = SpinorField::like(b);
  for (int r = 0; r < 2; ++r) test::to_product(b, test::random_spinors(problem.extents, uint64_t(32 + r)), r);
  const SolveReport report =
      solve(MultigridSpec{.multigrid = multigrid, .tolerance = 1e-10, .fallback = false}, M, x, b);
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_LE(report.largest_residual(), 1e-10);
  return test::canonical_part(x, 1);
}

std::vector<double> local_part(const Geometry& g, const std::vector<double>& whole) {
  std::vector<double> part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const double* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * 24];
    part.insert(part.end(), p, p + 24);
  }
  return part;
}

TEST(Gathering, any_number_of_coarse_ranks_gives_the_bits_of_one_process) {
  for (const Problem& problem : problems) {
    const auto alone = make_lattice(problem.extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
    for (const CoarseSolver solver : {CoarseSolver::gcr, CoarseSolver::schwarz}) {
      // Eight ranks take minutes on few cores: each problem has one of the solvers there.
      if (world()->size() > 4 && (&problem == problems) == (solver == CoarseSolver::gcr)) continue;
      const auto expected = test::on_one_rank(
          [&] { return solution(operator_on(alone, problem), problem, params_of(problem, solver, 0)); });
      const auto lattice = make_lattice(problem.extents);
      const WilsonOperator M = operator_on(lattice, problem);
      for (const int ranks : std::set<int>{0, 1, world()->size() / 2}) {
        const auto found = solution(M, problem, params_of(problem, solver, ranks));
        EXPECT_TRUE(found == local_part(lattice->geometry(), expected)) << name_of(solver) << " " << ranks;
      }
    }
  }
}

/// A set-up for links and masses that follow has its coarse lattice on the same ranks.
TEST(Gathering, shifts_and_updates_stay_on_the_few_ranks) {
  if (world()->size() == 1) return;
  const Problem& problem = problems[1];
  const WilsonOperator M = operator_on(make_lattice(problem.extents), problem);
  const MultigridPtr few = Multigrid::make(M, params_of(problem, CoarseSolver::gcr, 1)),
                     all = Multigrid::make(M, params_of(problem, CoarseSolver::gcr, world()->size()));
  ASSERT_NE(few->gathering(), nullptr);
  EXPECT_EQ(all->gathering(), nullptr);
  EXPECT_EQ(few->coarse() != nullptr, world()->rank() == 0);
  WilsonParams heavier = M.matrix()->params();
  heavier.mass += 0.1;
  heavier.twisted_mass = 0.02;
  const WilsonOperator other(*M.matrix()->gauge_field(), heavier);
  SpinorField b = other.make_field(1), x = SpinorField::like(b), y = SpinorField::like(b);
  test::to_product(b, test::random_spinors(problem.extents, 32));
  const auto run = [&](const MultigridPtr& multigrid, SpinorField& solution) {
    EXPECT_TRUE(
        solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, other, solution, b).converged);
    const auto updated =
        std::dynamic_pointer_cast<const Multigrid>(multigrid->updated(std::make_shared<WilsonOperator>(M)));
    EXPECT_EQ(updated->gathering() != nullptr, multigrid->gathering() != nullptr);
  };
  run(few, x);
  run(all, y);
  EXPECT_TRUE(test::canonical_part(x) == test::canonical_part(y));
}

TEST(Gathering, what_is_sent_summed_and_launched_is_what_costs_say) {
  for (const Problem& problem : problems)
    for (const int ranks : {1, 2, 4}) {
      if (ranks >= world()->size()) continue;
      const WilsonOperator M = operator_on(make_lattice(problem.extents), problem);
      const CoarseSolver solver = ranks == 1 ? CoarseSolver::schwarz : CoarseSolver::gcr;
      MultigridParams p = params_of(problem, solver, ranks);
      const MultigridPtr multigrid = Multigrid::make(M, p);
      ASSERT_NE(multigrid->gathering(), nullptr);
      const std::string where = message("coarse lattice on ", ranks, " ranks:");
      test::check_operator(*multigrid->coarse_operator(), where);
      if (&problem != problems)
        continue;  // the other one's fields go between lanes, which launches less than stated
      SpinorField b = M.make_field();
      test::to_product(b, test::random_spinors(problem.extents, 32));
      test::check_solve(M, b, MultigridSpec{.multigrid = multigrid, .tolerance = 1e-7, .fallback = false});
      EXPECT_GT(multigrid->profile().coarse.cost.message_count(), 0);
      const double flops = multigrid->profile().coarse.cost.flops;
      EXPECT_GT(flops, 0);
      EXPECT_EQ(world()->maximum(flops), world()->minimum(flops));  // the few ranks tell the others
    }
}

/// The first rank is busy for a while, and the processor time of the others is next to nothing.
TEST(Gathering, ranks_that_wait_sleep) {
  Communicator& all = *world();
  std::vector<Message> sends, receives;
  for (int rank = 1; rank < all.size(); ++rank) {
    if (all.rank() == 0) sends.push_back({rank, 1, nullptr, 8});
    if (all.rank() == rank) receives.push_back({0, 1, nullptr, 8});
  }
  const auto exchange = all.make_exchange(sends, receives);
  all.barrier();
  const std::clock_t before = std::clock();
  const Stopwatch watch;
  while (all.rank() == 0 && watch.seconds() < 1) {}
  exchange->start();
  wait_asleep(*exchange, int(receives.size()));
  const double busy = double(std::clock() - before) / CLOCKS_PER_SEC;
  if (all.rank() == 0) return;
  EXPECT_GT(watch.seconds(), 0.5);
  EXPECT_LT(busy, 0.2 * watch.seconds());
  std::printf("rank %d waited %.2f s and was busy for %.4f s\n", all.rank(), watch.seconds(), busy);
}

TEST(Gathering, the_rule_is_one_of_counts) {
  const auto count = [](const Coord& coarse, const Coord& grid, int wanted, const Coord& box) {
    return choose_coarse_ranks(coarse, grid, wanted, box).count;
  };
  const Coord any{1, 1, 1, 1}, boxes{2, 2, 2, 2};
  EXPECT_EQ(count({4, 4, 4, 4}, {2, 2, 2, 1}, 0, any), 8);     // each has 32 sites
  EXPECT_EQ(count({4, 4, 4, 4}, {4, 4, 2, 2}, 0, any), 64);    // each has 4 sites
  EXPECT_EQ(count({4, 4, 4, 4}, {4, 4, 4, 2}, 0, any), 32);    // each has 2: 8 on a quarter of the ranks
  EXPECT_EQ(count({4, 4, 4, 4}, {4, 4, 2, 2}, 0, boxes), 16);  // boxes are not cut
  EXPECT_EQ(count({4, 4, 4, 4}, {2, 2, 2, 1}, 0, boxes), 8);
  EXPECT_EQ(count({2, 2, 2, 2}, {2, 2, 2, 1}, 0, any), 2);
  EXPECT_EQ(count({2, 2, 2, 2}, {2, 2, 2, 1}, 0, boxes), 1);
  EXPECT_EQ(count({6, 2, 2, 2}, {2, 2, 2, 1}, 5, any), 4);  // there are at most 5
  EXPECT_EQ(count({4, 4, 4, 4}, {2, 2, 2, 1}, 100, any), 8);
  EXPECT_EQ(choose_coarse_ranks({6, 2, 2, 2}, {2, 2, 2, 1}, 3, boxes).grid, (Coord{3, 1, 1, 1}));
  EXPECT_THROW(choose_coarse_ranks({4, 4, 4, 4}, any, 0, {3, 2, 2, 2}), BadArgument);
}

}  // namespace in_test_gathering
}  // namespace trellis
