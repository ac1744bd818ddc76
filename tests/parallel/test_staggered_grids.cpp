// ranks: 1 2 3 4 8
/// On every process grid the staggered operators, naive and with long links, and the derivative with respect
/// to their links have the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/on_one_rank.hpp"
#include "tests/support/staggered_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/staggered_derivative.hpp"

namespace trellis {
namespace in_test_staggered_grids {

StaggeredPhases some_phases() {
  StaggeredPhases phases;
  phases.mu_over_ipiT = 0.3;
  phases.flux = {1, 0, -2, 1, 0, 3};
  return phases;
}

struct Result {
  std::vector<double> field, near, far;

  auto members() { return std::tie(field, near, far); }
};

std::vector<double> canonical(const LinkDerivative& G) {
  const Geometry& g = G.geometry();
  std::vector<double> values;
  for (int64_t site = 0; site < g.local_volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu)
      for (const auto& z : G.matrix(site_coord(site, g.local()), mu)) {
        values.push_back(z.real());
        values.push_back(z.imag());
      }
  return values;
}

Result compute(const LatticePtr& lattice, const reference::Gauge& U, const reference::Gauge& V,
               const reference::ColorVectors& psi, const KernelChoice& choice, bool is_improved, int rhs) {
  const GaugeField near = test::to_product(lattice, U, choice.lanes);
  const BackLinks back = choice.lanes == 1 ? BackLinks::none : BackLinks::kept;
  const auto links = is_improved
                         ? std::make_shared<StaggeredLinks>(near, test::to_product(lattice, V, choice.lanes),
                                                            -1.0 / 24, true, choice, back)
                         : std::make_shared<StaggeredLinks>(near, choice, back);
  const auto matrix = std::make_shared<StaggeredMatrix>(links, some_phases(), 0.1, choice.precision);
  const StaggeredOperator M(matrix);
  const StaggeredSchur S(matrix);
  SpinorField in = M.make_field(rhs), out = M.make_field(rhs);
  for (int r = 0; r < rhs; ++r) test::to_product(in, psi, r);
  M.apply(out, in);
  SpinorField even = S.make_field(rhs), schur = S.make_field(rhs);
  extract_parity(even, out);
  S.apply(schur, even);
  Result result{test::canonical_part(schur, rhs - 1), {}, {}};
  if (choice.precision != Precision::double_precision || choice.backend != Backend::cpu) return result;
  LinkDerivative G(near), F(near);
  StaggeredLinkDerivative(matrix).add(G, is_improved ? &F : nullptr, {&even, &schur}, {0.7, -0.2});
  result.near = canonical(G);
  result.far = canonical(F);
  return result;
}

std::vector<double> local_part(const Geometry& g, const std::vector<double>& whole, int reals) {
  std::vector<double> part;
  if (whole.empty()) return part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const double* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * size_t(reals)];
    part.insert(part.end(), p, p + reals);
  }
  return part;
}

void check_lattice(const Coord& extents, bool is_improved) {
  const int ranks = world()->size();
  const auto U = test::random_gauge(extents, 21), V = test::random_gauge(extents, 23);
  const auto psi = test::random_vectors(extents, 22);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  for (const Precision precision : all_precisions) {
    const Result expected = test::on_one_rank([&] {
      return compute(alone, U, V, psi, {precision, 18, Backend::cpu, 1}, is_improved, 1);
    });
    for (const Coord& grid : legal_process_grids(extents, ranks, is_improved ? 4 : 2)) {
      const auto lattice = make_lattice(extents, grid);
      const auto part = local_part(lattice->geometry(), expected.field, 6);
      for (const int lanes : {1, 4, 16})
        for (const Backend backend : {Backend::cpu, Backend::gpu_emulated}) {
          if (backend == Backend::gpu_emulated && lanes != 1) continue;
          const std::string where = message(to_string(extents), " grid ", to_string(grid), " lanes ", lanes,
                                            " ", name_of(backend), " ", name_of(precision), " ", is_improved);
          const Result found = compute(lattice, U, V, psi, {precision, 18, backend, lanes}, is_improved, 1);
          EXPECT_EQ(part, found.field) << where;
          if (found.near.empty()) continue;
          EXPECT_EQ(local_part(lattice->geometry(), expected.near, 72), found.near) << where;
          EXPECT_EQ(local_part(lattice->geometry(), expected.far, 72), found.far) << where;
          EXPECT_EQ(part, compute(lattice, U, V, psi, {precision, 18, backend, lanes}, is_improved, 3).field)
              << where;
        }
    }
  }
}

TEST(StaggeredGrids, naive_on_every_grid) {
  check_lattice({4, 4, 4, 8}, false);
  check_lattice({6, 4, 2, 12}, false);
}

TEST(StaggeredGrids, improved_on_every_grid) {
  check_lattice({4, 4, 4, 8}, true);
  check_lattice({6, 4, 2, 12}, true);
}

TEST(StaggeredGrids, lanes_and_ranks_may_split_the_same_direction) {
  check_lattice({2, 2, 8, 16}, false);
  check_lattice({2, 2, 8, 16}, true);
}

TEST(StaggeredGrids, long_links_refuse_thin_slices) {
  if (world()->size() != 2) GTEST_SKIP() << "two ranks";
  const auto lattice = make_lattice({4, 4, 4, 4}, {1, 1, 1, 2});
  const GaugeField U(lattice);
  const auto links = std::make_shared<StaggeredLinks>(U, U, -1.0 / 24);
  EXPECT_THROW(StaggeredMatrix(links, {}, 0.1), BadArgument);
}

}  // namespace in_test_staggered_grids
}  // namespace trellis
