/// Links, smearing and gauge forces in single precision are those in double, rounded.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/single_precision.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/stout_chain.hpp"

namespace trellis {
namespace in_test_single_precision_forces {

constexpr Precision single = Precision::single_precision;

/// Returns well mixed links: staples differ from link to link.
GaugeField random_links(const Coord& extents, int lanes = 0) {
  return test::to_product(make_lattice(extents), test::random_gauge(extents, 23), lanes);
}

std::vector<double> canonical(const GaugeField& U) {
  std::vector<double> x(U.canonical_size());
  U.to_canonical(x.data());
  return x;
}

/// Returns |a - b| / |b|.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

TEST(SinglePrecision, links_and_forces_are_rounded_and_widened) {
  for (const Coord& extents : {Coord{4, 4, 4, 4}, Coord{2, 4, 6, 2}, Coord{8, 2, 4, 10}})
    for (const int lanes : {1, 4, 8, 16}) {
      const std::string where = message(to_string(extents), ", ", lanes, " lanes");
      const GaugeField U = random_links(extents, lanes);
      const SinglePrecisionMap map(U);
      EXPECT_TRUE(map.fits(U));
      GaugeField rounded = map.make_single(U), back = GaugeField::like(U);
      map.convert(rounded, U);
      map.convert(back, rounded);
      std::vector<double> expected = canonical(U);
      for (double& x : expected) x = double(float(x));
      EXPECT_EQ(canonical(rounded), expected) << where;
      EXPECT_EQ(canonical(back), expected) << where;

      AlgebraField f(rounded), sum(U);
      const Coord x{1, 1, extents[2] - 1, 1};
      f.set_components(x, 2, {1, 2, 3, 4, 5, 6, 7, 8});
      sum.set_components(x, 2, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
      map.add(sum, f);
      EXPECT_EQ(sum.components(x, 2), (std::array<double, 8>{1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5}))
          << where;
      EXPECT_EQ(dot(sum, sum),
                1.5 * 1.5 + 2.5 * 2.5 + 3.5 * 3.5 + 4.5 * 4.5 + 5.5 * 5.5 + 6.5 * 6.5 + 7.5 * 7.5 + 8.5 * 8.5)
          << where;
    }
}

/// Some weights of smearing are as runs have them, and some take lanes beyond the series of the exponential.
TEST(SinglePrecision, stout_links_and_their_chain_rule) {
  const Coord extents{4, 4, 2, 8};
  const GaugeField U = random_links(extents);
  const SinglePrecisionMap map(U);
  GaugeField rounded = map.make_single(U), back = GaugeField::like(U);
  map.convert(rounded, U);
  const GaugeField other = test::to_product(U.lattice_ptr(), test::random_gauge(extents, 5), U.lanes());
  for (const double rho : {0.12, 0.9, 3.0}) {
    StoutChain expected(rho, 2), found(rho, 2);
    expected.set(U);
    found.set(rounded);
    map.convert(back, found.links());
    EXPECT_LT(distance(canonical(back), canonical(expected.links())), rho < 0.5 ? 1e-6 : 1e-5) << rho;
    EXPECT_GT(distance(canonical(back), canonical(expected.links())), 1e-9) << rho;
    LinkDerivative G(U), rounded_G(rounded);
    for (int64_t site = 0; site < product(extents); ++site)
      for (int mu = 0; mu < Nd; ++mu) {
        const Coord x = site_coord(site, extents);
        G.set_matrix(x, mu, other.link(x, mu));
      }
    map.convert(rounded_G, G);
    expected.pull_back(G);
    found.pull_back(rounded_G);
    AlgebraField F(U), rounded_F(U);
    LinkDerivative widened(U);
    map.convert(widened, rounded_G);
    add_force(F, G, U);
    add_force(rounded_F, widened, U);
    add(rounded_F, -1.0, F);
    EXPECT_LT(std::sqrt(dot(rounded_F, rounded_F) / dot(F, F)), rho < 0.5 ? 1e-6 : 1e-5) << rho;
  }
}

TEST(SinglePrecision, gauge_forces) {
  const GaugeField U = random_links({4, 2, 4, 8});
  const SinglePrecisionMap map(U);
  GaugeField rounded = map.make_single(U);
  map.convert(rounded, U);
  for (const GaugeAction& S :
       {GaugeAction::wilson(6.0), GaugeAction::symanzik(4.0), GaugeAction::dbw2(1.0)}) {
    const AlgebraField F = force(S, U), rounded_F = force(S, rounded);
    AlgebraField difference(U);
    map.add(difference, rounded_F);
    add(difference, -1.0, F);
    EXPECT_LT(std::sqrt(dot(difference, difference) / dot(F, F)), 1e-6) << S.c1;
    EXPECT_GT(dot(difference, difference), 0) << S.c1;
  }
}

TEST(SinglePrecision, what_takes_double_precision_only_refuses_it) {
  const GaugeField U = random_links({4, 4, 4, 4});
  const SinglePrecisionMap map(U);
  GaugeField rounded = map.make_single(U);
  AlgebraField P(rounded);
  EXPECT_THROW(plaquette(rounded), BadArgument);
  EXPECT_THROW(drift(rounded, P, 0.1), BadArgument);
  EXPECT_THROW(dot(P, P), BadArgument);
  EXPECT_THROW(kinetic_energy(P), BadArgument);
  AlgebraField F(U);
  EXPECT_THROW(add_force(F, GaugeAction::wilson(6.0), rounded), BadArgument);
  EXPECT_THROW(SinglePrecisionMap{rounded}, BadArgument);
  EXPECT_THROW(GaugeField(U.lattice_ptr(), 1, 2, Backend::gpu_emulated, single), BadArgument);
  EXPECT_THROW(GaugeField(U.lattice_ptr(), 0, 2, Backend::cpu, Precision::half_precision), BadArgument);
}

}  // namespace in_test_single_precision_forces
}  // namespace trellis
