// sanitize: 1
// ranks: 1 2 4 8
/// Smearing, forces, flow and charge on every process grid have the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/smearing.hpp"
#include "trellis/gauge/stout_chain.hpp"

namespace trellis {
namespace in_test_gauge_fields {

struct Result {
  std::vector<double> smeared, flowed, force, pulled_back, sums;
};

Result compute(const LatticePtr& lattice, const reference::Gauge& reference, int lanes) {
  const GaugeField U = test::to_product(lattice, reference, lanes);
  Result r;
  auto links = [&](const GaugeField& field) {
    std::vector<double> x(field.canonical_size());
    field.to_canonical(x.data());
    return x;
  };
  r.smeared = links(ape_smear(stout_smear(U, 0.11, 2), {0.6, 1, true, Su3Projection::maximal_trace}));
  GradientFlow flow(U, -0.331);
  flow.step(0.02);
  r.flowed = links(flow.field());
  const AlgebraField F = force(GaugeAction::symanzik(4.2), U);
  r.force.resize(U.canonical_size() / 72 * 32);
  F.to_canonical(r.force.data());
  StoutWeights rho = isotropic_stout(0.12);
  rho[0][3] = 0.05;
  StoutChain chain(rho, 2);
  chain.set(U);
  LinkDerivative G(U);  // it is that of the sum of Re tr(U_mu V_mu) over the smeared links V
  for (int64_t site = 0; site < U.geometry().local_volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord x = site_coord(site, U.geometry().local());
      G.set_matrix(x, mu, U.link(x, mu));
    }
  chain.pull_back(G);
  AlgebraField pulled(U);
  add_force(pulled, G, U);
  r.pulled_back.resize(r.force.size());
  pulled.to_canonical(r.pulled_back.data());
  r.sums = {dot(F, F), action(GaugeAction::dbw2(0.9), U), energy_density_clover(U),
            topological_charge(U, ChargeDefinition::improved)};
  return r;
}

std::vector<double> local_part(const Geometry& g, const std::vector<double>& whole, size_t reals) {
  std::vector<double> part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const double* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * reals];
    part.insert(part.end(), p, p + reals);
  }
  return part;
}

void check_lattice(const Coord& extents) {
  const auto U = test::random_gauge(extents, 92);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  const Result expected = compute(alone, U, 1);
  for (const Coord& grid : legal_process_grids(extents, world()->size()))
    for (const int lanes : {1, 8}) {
      const auto lattice = make_lattice(extents, grid);
      const Result found = compute(lattice, U, lanes);
      const std::string where = message(to_string(extents), " grid ", to_string(grid), " lanes ", lanes);
      EXPECT_TRUE(found.smeared == local_part(lattice->geometry(), expected.smeared, 72)) << where;
      EXPECT_TRUE(found.flowed == local_part(lattice->geometry(), expected.flowed, 72)) << where;
      EXPECT_TRUE(found.force == local_part(lattice->geometry(), expected.force, 32)) << where;
      EXPECT_TRUE(found.pulled_back == local_part(lattice->geometry(), expected.pulled_back, 32)) << where;
      EXPECT_EQ(found.sums, expected.sums) << where;
    }
}

TEST(GaugeFieldsGrids, every_grid_gives_the_bits_of_one_process) {
  check_lattice({4, 4, 4, 8});
  check_lattice({8, 2, 4, 4});
}

}  // namespace in_test_gauge_fields
}  // namespace trellis
