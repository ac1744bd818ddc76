// sanitize: 1
// ranks: 1 2 3 4 8
/// The Wilson operators and linear algebra on every process grid give the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/column_sums.hpp"
#include "tests/support/on_one_rank.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace in_test_wilson_grids {

WilsonParams clover_with_phases() {
  WilsonParams p;
  p.mass = -0.1;
  p.csw_spatial = 0.9;
  p.csw_temporal = 1.1;
  p.nu = 0.95;
  p.xi0 = 1.5;
  p.boundary = {1.0, std::polar(1.0, 0.4), 1.0, -1.0};
  return p;
}

struct Result {
  std::vector<double> field;
  std::complex<double> dot;
  double norm = 0;

  auto members() { return std::tie(field, dot, norm); }
};

/// Returns S psi on even sites by the local part, and global sums.
Result compute(const LatticePtr& lattice, const reference::Gauge& U, const reference::SpinorVector& psi,
               const KernelChoice& choice, int gauge_lanes, int rhs, double twisted_mass = 0) {
  WilsonParams params = clover_with_phases();
  params.twisted_mass = twisted_mass;
  const auto matrix =
      std::make_shared<WilsonMatrix>(test::to_product(lattice, U, gauge_lanes), params, choice);
  const WilsonSchur S(matrix, SchurForm::symmetric);
  const WilsonOperator M(matrix);
  SpinorField in = M.make_field(rhs), out = M.make_field(rhs);
  for (int r = 0; r < rhs; ++r) test::to_product(in, psi, r);
  M.apply(out, in);
  SpinorField even = S.make_field(rhs), schur = S.make_field(rhs);
  extract_parity(even, out);
  const double norm = test::apply_with_norm2(S, schur, even, true)[0];
  EXPECT_EQ(norm, norm2_each(schur)[0]);
  return {test::canonical_part(schur, rhs - 1), dot_each(even, schur)[0], norm};
}

/// Returns the local part of a whole-lattice canonical array.
std::vector<double> local_part(const Geometry& g, const std::vector<double>& whole, int reals) {
  std::vector<double> part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const double* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * size_t(reals)];
    part.insert(part.end(), p, p + reals);
  }
  return part;
}

void check_lattice(const Coord& extents, int link_reals = 18, double twisted_mass = 0) {
  const int ranks = world()->size();
  const auto U = test::random_gauge(extents, 21);
  const auto psi = test::random_spinors(extents, 22);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  for (const Precision precision : all_precisions) {
    if (!has_link_storage(precision, link_reals)) continue;
    const Result expected = test::on_one_rank([&] {
      return compute(alone, U, psi, {precision, link_reals, Backend::cpu, 1}, 1, 1, twisted_mass);
    });
    for (const Coord& grid : legal_process_grids(extents, ranks)) {
      const auto lattice = make_lattice(extents, grid);
      const auto part = local_part(lattice->geometry(), expected.field, 24);
      for (const int lanes : {1, 4, 16})
        for (const Backend backend : {Backend::cpu, Backend::gpu_emulated}) {
          if (backend == Backend::gpu_emulated && lanes != 1) continue;
          const Result found = compute(lattice, U, psi, {precision, link_reals, backend, lanes}, lanes,
                                       lanes == 4 ? 2 : 1, twisted_mass);
          const std::string where = message(to_string(extents), " grid ", to_string(grid), " lanes ", lanes,
                                            " ", name_of(backend), " ", name_of(precision));
          EXPECT_EQ(part, found.field) << where;
          EXPECT_EQ(expected.dot, found.dot) << where;
          EXPECT_EQ(expected.norm, found.norm) << where;
        }
    }
  }
}

TEST(WilsonGrids, every_grid_gives_the_bits_of_one_process) {
  check_lattice({4, 4, 4, 8});
  check_lattice({6, 4, 2, 12});
}

TEST(WilsonGrids, lanes_and_ranks_may_split_the_same_direction) { check_lattice({2, 2, 8, 16}); }

TEST(WilsonGrids, compressed_links_too) { check_lattice({2, 4, 4, 16}, 8); }

TEST(WilsonGrids, a_twisted_mass_with_a_clover_term_too) { check_lattice({4, 2, 4, 8}, 12, 0.2); }

TEST(WilsonGrids, a_nan_on_one_rank_is_seen_by_all) {
  const auto lattice = make_lattice({4, 4, 8, 12});
  SpinorField x(lattice);
  if (world()->rank() == world()->size() - 1) {
    std::vector<double> reals(24, 0.0);
    reals[5] = std::nan("");
    x.set_site({0, 0, 0}, 0, reals.data());
  }
  EXPECT_TRUE(std::isnan(norm2(x)));
}

}  // namespace in_test_wilson_grids
}  // namespace trellis
