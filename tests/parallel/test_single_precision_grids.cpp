// ranks: 1 2 4 8
/// Forces in single precision on every process grid and with any lanes have the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/on_one_rank.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/stout_chain.hpp"

namespace trellis {
namespace in_test_single_precision_grids {

struct Results {
  double smeared, chain, force;
};

/// Returns sums over all links of smeared links, of a derivative carried back by two levels, and of gauge
/// forces.
Results measure(const LatticePtr& lattice, const reference::Gauge& links, int lanes) {
  const GaugeField U = test::to_product(lattice, links, lanes);
  GaugeField rounded(lattice, lanes, GaugeField::halo_width, Backend::cpu, Precision::single_precision);
  std::vector<double> canonical(U.canonical_size());
  U.to_canonical(canonical.data());
  rounded.from_canonical(canonical.data());
  const auto trace_of = [&](const GaugeField& V) {
    GaugeField in_double = GaugeField::like(U);
    V.to_canonical(canonical.data());
    in_double.from_canonical(canonical.data());
    return measure_loops(in_double).link_trace;
  };
  StoutChain chain(0.12, 2);
  chain.set(rounded);
  const double smeared = trace_of(chain.links());
  LinkDerivative G(rounded);
  const Coord& local = lattice->geometry().local();
  for (int64_t site = 0; site < product(local); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord x = site_coord(site, local);
      G.set_matrix(x, mu, rounded.link(x, mu));
    }
  chain.pull_back(G);
  AlgebraField F(rounded), sum(U), of_chain(U);
  add_force(F, GaugeAction::symanzik(4.0), rounded);
  add_force(F, GaugeAction::wilson(6.0), rounded);
  std::vector<double> components(size_t(product(local)) * 32);
  F.to_canonical(components.data());
  sum.from_canonical(components.data());
  LinkDerivative in_double(U);
  for (int64_t site = 0; site < product(local); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord x = site_coord(site, local);
      in_double.set_matrix(x, mu, G.matrix(x, mu));
    }
  add_force(of_chain, in_double, U);
  return {smeared, dot(of_chain, of_chain), dot(sum, sum)};
}

TEST(SinglePrecisionGrids, every_grid_gives_the_bits_of_one_process) {
  const Coord extents{4, 4, 4, 8};
  const auto links = test::random_gauge(extents, 41);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  const Results expected = test::on_one_rank([&] { return measure(alone, links, 1); });
  EXPECT_GT(expected.force, 0);
  for (const Coord& grid : legal_process_grids(extents, world()->size()))
    for (const int lanes : {1, 4, 8, 16}) {
      const std::string where = message("grid ", to_string(grid), " lanes ", lanes);
      const Results found = measure(make_lattice(extents, grid), links, lanes);
      EXPECT_EQ(found.smeared, expected.smeared) << where;
      EXPECT_EQ(found.chain, expected.chain) << where;
      EXPECT_EQ(found.force, expected.force) << where;
    }
}

}  // namespace in_test_single_precision_grids
}  // namespace trellis
