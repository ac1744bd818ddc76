/// Domain-wall operators and propagators on every process grid give the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/five_fields.hpp"
#include "tests/support/on_one_rank.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/domain_wall_propagator.hpp"

namespace trellis {
namespace in_test_domain_wall_grids {

struct Result {
  std::vector<std::vector<double>> slices;
  double norm = 0;

  auto members() { return std::tie(slices, norm); }
};

/// Returns S^dagger S psi on even sites, and its norm.
Result compute(const LatticePtr& lattice, const reference::Gauge& U, const reference::FiveVector& psi,
               const KernelChoice& choice, SchurForm form) {
  DomainWallParams anisotropic = test::moebius(0.05, 4, 1.5, 0.5);
  anisotropic.nu = 0.9;
  anisotropic.xi0 = 1.7;
  const auto matrix =
      std::make_shared<DomainWallMatrix>(test::to_product(lattice, U, choice.lanes), anisotropic, choice);
  const DomainWallSchur S(matrix, form);
  SpinorField full = matrix->make_field(Subset::full, 1);
  test::to_product(full, psi);
  SpinorField even = S.make_field(), Se = S.make_field(), out = S.make_field();
  extract_parity(even, full);
  S.apply(Se, even);
  S.apply_dagger(out, Se);
  Result result;
  for (int s = 0; s < 4; ++s) result.slices.push_back(test::canonical_part(out, s));
  result.norm = norm2_each(out)[0];
  return result;
}

TEST(DomainWallGrids, every_grid_gives_the_bits_of_one_process) {
  const Coord extents{4, 4, 2, 8};
  const auto U = test::random_gauge(extents, 21);
  const auto psi = test::random_five(extents, 4, 22);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  for (const SchurForm form : {SchurForm::symmetric, SchurForm::asymmetric})
    for (const Precision precision : all_precisions) {
      const Result expected = test::on_one_rank([&] {
        return compute(alone, U, psi, {precision, 18, Backend::cpu, 1}, form);
      });
      for (const Coord& grid : legal_process_grids(extents, world()->size())) {
        const auto lattice = make_lattice(extents, grid);
        const Geometry& g = lattice->geometry();
        for (const int lanes : {1, 4, 16}) {
          const Result found = compute(lattice, U, psi, {precision, 18, Backend::cpu, lanes}, form);
          EXPECT_EQ(expected.norm, found.norm) << to_string(grid) << " lanes " << lanes;
          for (size_t s = 0; s < 4; ++s) {
            std::vector<double> part;
            for (int64_t site = 0; site < g.local_volume(); ++site) {
              const size_t at = size_t(g.global_index(site_coord(site, g.local()))) * 24;
              part.insert(part.end(), expected.slices[s].begin() + int64_t(at),
                          expected.slices[s].begin() + int64_t(at) + 24);
            }
            EXPECT_EQ(part, found.slices[s]) << to_string(grid) << " lanes " << lanes << " slice " << s;
          }
        }
      }
    }
}

}  // namespace in_test_domain_wall_grids
}  // namespace trellis
