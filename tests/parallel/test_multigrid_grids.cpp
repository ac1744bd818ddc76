// ranks: 1 2 3 4 8
/// Multigrid on every process grid has the bits of a single process, also where ranks have an odd number of
/// coarse sites, and costs what it says.
#include <gtest/gtest.h>

#include "tests/support/counted_costs.hpp"
#include "tests/support/on_one_rank.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_multigrid_grids {

struct Problem {
  Coord extents, block;
  std::vector<Coord> coarse_blocks = {};  ///< none means two levels
};

struct Result {
  std::vector<double> solution, residuals, of_replaced;
  int iterations = 0;
  std::vector<std::vector<double>> of_levels;  ///< each has its residuals, the worst one and its condition

  auto members() { return std::tie(solution, residuals, of_replaced, iterations, of_levels); }
};

/// The set-up replaces two of these vectors by noise.
std::vector<double> residuals_of_replaced_vectors(const WilsonOperator& M, const MultigridParams& params,
                                                  const Problem& problem) {
  SpinorField vectors = M.make_field(params.vectors);
  for (int j = 0; j < params.vectors; ++j)
    test::to_product(vectors, test::random_spinors(problem.extents, uint64_t(40 + j % (params.vectors - 2))),
                     j);
  const MultigridPtr multigrid = MultigridSetup(*M.matrix(), params).from_vectors(vectors, 1);
  EXPECT_EQ(multigrid->report().notes.size(), 1u);
  return multigrid->report().residual;
}

const Problem problems[] = {{{8, 4, 4, 8}, {2, 2, 2, 2}},
                            {{12, 4, 4, 4}, {2, 2, 2, 2}},
                            {{12, 4, 4, 8}, {2, 2, 2, 2}, {{3, 1, 1, 1}}},
                            {{16, 4, 4, 8}, {2, 2, 2, 2}, {{2, 1, 1, 2}}}};

/// Returns the grids on which every rank has whole blocks of all levels. The extents in y and z are the same,
/// and of two grids that differ by their names alone only the first problem has both.
std::vector<Coord> grids_of(const Problem& problem) {
  std::vector<Coord> grids;
  for (const Coord& grid : legal_process_grids(problem.extents, world()->size())) {
    if (&problem != problems && grid[1] < grid[2]) continue;
    const Geometry second = coarse_geometry(Geometry(problem.extents, ProcessGrid(grid), 0), problem.block);
    bool fits = true;
    for (const Coord& block : problem.coarse_blocks)
      fits = fits && block_error(second, block, AggregatesOf::coarse_sites).empty();
    if (fits) grids.push_back(grid);
  }
  return grids;
}

WilsonOperator operator_on(const LatticePtr& lattice, const Problem& problem, int lanes) {
  WilsonParams params{.mass = 0.05, .csw_spatial = 1.0, .csw_temporal = 1.0};
  const GaugeField U = test::to_product(lattice, test::random_gauge(problem.extents, 31, 0.3), lanes);
  return {U, params, {.lanes = lanes}};
}

MultigridParams params_of(const Problem& problem) {
  MultigridParams p;
  p.block = problem.block;
  p.vectors = 6;
  p.sweeps = 1;
  p.levels = 2 + int(problem.coarse_blocks.size());
  p.coarse_blocks = problem.coarse_blocks;
  return p;
}

Result solve_on(const LatticePtr& lattice, const Problem& problem, int lanes) {
  const WilsonOperator M = operator_on(lattice, problem, lanes);
  const MultigridPtr multigrid = Multigrid::make(M, params_of(problem));
  SpinorField b = M.make_field(2), x = SpinorField::like(b);
  for (int r = 0; r < 2; ++r) test::to_product(b, test::random_spinors(problem.extents, uint64_t(32 + r)), r);
  const SolveReport report =
      solve(MultigridSpec{.multigrid = multigrid, .tolerance = 1e-8, .fallback = false}, M, x, b);
  EXPECT_TRUE(report.converged) << report.summary();
  std::vector<std::vector<double>> of_levels;
  for (const MultigridLevelReport& level : multigrid->report().coarse_levels) {
    of_levels.push_back(level.residual);
    of_levels.back().insert(of_levels.back().end(), {level.worst_residual, level.condition});
  }
  return {test::canonical_part(x, 1), multigrid->report().residual,
          residuals_of_replaced_vectors(M, params_of(problem), problem), report.iterations, of_levels};
}

std::vector<double> local_part(const Geometry& g, const std::vector<double>& whole) {
  std::vector<double> part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const double* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * 24];
    part.insert(part.end(), p, p + 24);
  }
  return part;
}

TEST(MultigridGrids, every_grid_gives_the_bits_of_one_process) {
  for (const Problem& problem : problems) {
    const std::vector<Coord> grids = grids_of(problem);
    if (grids.empty()) continue;
    const auto alone = make_lattice(problem.extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
    const Result expected = test::on_one_rank([&] { return solve_on(alone, problem, 1); });
    for (const Coord& grid : grids) {
      const auto lattice = make_lattice(problem.extents, grid);
      const Result found = solve_on(lattice, problem, 0);
      EXPECT_EQ(found.iterations, expected.iterations) << to_string(grid);
      EXPECT_EQ(found.residuals, expected.residuals) << to_string(grid);
      EXPECT_EQ(found.of_levels, expected.of_levels) << to_string(grid);
      EXPECT_EQ(found.of_replaced, expected.of_replaced) << to_string(grid);
      EXPECT_TRUE(found.solution == local_part(lattice->geometry(), expected.solution)) << to_string(grid);
    }
  }
}

/// Two directions lead to the same rank where there are only two, and ranks with an odd number of coarse
/// sites send messages of unequal lengths.
TEST(MultigridGrids, what_is_sent_summed_and_launched_is_what_costs_say) {
  for (const Problem& problem : problems) {
    std::vector<Coord> grids = grids_of(problem);
    if (grids.size() > 2) grids = {grids.front(), grids.back()};
    for (const Coord& grid : grids) {
      const auto lattice = make_lattice(problem.extents, grid);
      const WilsonOperator M = operator_on(lattice, problem, 0);
      MultigridParams p = params_of(problem);
      p.sweeps = 0;
      p.smoother = grid == grids.front() ? MultigridSmoother::schwarz : MultigridSmoother::minimal_residual;
      const MultigridPtr multigrid = Multigrid::make(M, p);
      const std::string where = message("grid ", to_string(grid), ":");
      for (const Precision storage : {Precision::single_precision, Precision::half_precision}) {
        const CoarseMatrixPtr coarse = multigrid->coarse()->stored_in(storage);
        test::check_operator(CoarseOperator(coarse), where);
        for (const SchurForm form : {SchurForm::symmetric, SchurForm::asymmetric})
          test::check_operator(CoarseSchur(coarse, form), where);
      }
      SpinorField b = M.make_field();
      test::to_product(b, test::random_spinors(problem.extents, 32));
      test::check_solve(M, b, MultigridSpec{.multigrid = multigrid, .tolerance = 1e-7, .fallback = false});
    }
  }
}

}  // namespace in_test_multigrid_grids
}  // namespace trellis
