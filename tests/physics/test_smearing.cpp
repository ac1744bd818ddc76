/// Stout and APE smearing agree with the reference and gold numbers, and have gauge covariance and limits.
#include <gtest/gtest.h>

#include <cstring>

#include "reference/smearing.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/smearing.hpp"

namespace trellis {
namespace in_test_smearing {

/// Returns the largest difference of an entry, on one process.
double largest_difference(const GaugeField& found, const reference::Gauge& expected) {
  std::vector<double> links(found.canonical_size());
  found.to_canonical(links.data());
  double worst = 0;
  for (size_t i = 0; i < expected.links.size(); ++i) {
    ColorMatrix<double> link;
    std::memcpy(&link, &links[18 * i], sizeof(link));
    worst = std::max(worst, test::largest_difference(link, expected.links[i]));
  }
  return worst;
}

/// Returns links close to 1: projections are then unique and well conditioned.
reference::Gauge smooth_gauge(const Coord& extents, uint64_t seed) {
  return test::random_gauge(extents, seed, 0.4);
}

TEST(Smearing, stout_equals_the_reference) {
  for (const Coord& extents : {Coord{4, 4, 4, 8}, Coord{2, 6, 4, 2}}) {
    const auto U = test::random_gauge(extents, 61);
    const GaugeField product = test::to_product(make_lattice(extents), U);
    EXPECT_LT(largest_difference(stout_smear(product, 0.12, 2),
                                 reference::stout_smeared(U, reference::isotropic_stout(0.12), 2)),
              test::rounding(1000));
    EXPECT_LT(largest_difference(stout_smear(product, spatial_stout(0.2), 1),
                                 reference::stout_smeared(U, reference::spatial_stout(0.2), 1)),
              test::rounding(300));
    StoutWeights weights{};
    for (size_t mu = 0; mu < 4; ++mu)
      for (size_t nu = 0; nu < 4; ++nu) weights[mu][nu] = 0.02 * double(mu + 1) + 0.005 * double(nu);
    EXPECT_LT(largest_difference(stout_smear(product, weights, 1), reference::stout_smeared(U, weights, 1)),
              test::rounding(300));
  }
}

TEST(Smearing, ape_equals_the_reference) {
  const Coord extents{4, 2, 4, 6};
  const auto U = smooth_gauge(extents, 62);
  const GaugeField product = test::to_product(make_lattice(extents), U);
  for (const bool is_spatial_only : {false, true}) {
    ApeParams params;
    params.alpha = 0.6;
    params.levels = 2;
    params.is_spatial_only = is_spatial_only;
    const GaugeField found = ape_smear(product, params);
    EXPECT_LT(largest_difference(found, reference::ape_smeared(U, 0.6, 2, is_spatial_only)), 1e-11);
    EXPECT_LT(unitarity_violation(found), test::rounding(20));
  }
}

TEST(Smearing, is_gauge_covariant) {
  const Coord extents{4, 4, 2, 4};
  const auto U = smooth_gauge(extents, 63);
  const auto g = test::random_transformation(extents, 64);
  const LatticePtr lattice = make_lattice(extents);
  const GaugeField plain = test::to_product(lattice, U),
                   turned = test::to_product(lattice, reference::gauge_transformed(U, g));
  auto as_reference = [&](const GaugeField& field) {
    reference::Gauge out = U;
    std::vector<double> links(field.canonical_size());
    field.to_canonical(links.data());
    std::memcpy(out.links.data(), links.data(), links.size() * sizeof(double));
    return out;
  };
  EXPECT_LT(largest_difference(stout_smear(turned, 0.15, 2),
                               reference::gauge_transformed(as_reference(stout_smear(plain, 0.15, 2)), g)),
            test::rounding(1000));
  const ApeParams ape{0.5, 2, true, Su3Projection::maximal_trace};
  EXPECT_LT(largest_difference(ape_smear(turned, ape),
                               reference::gauge_transformed(as_reference(ape_smear(plain, ape)), g)),
            1e-11);
}

TEST(Smearing, smooths_and_keeps_what_it_should) {
  const Coord extents{4, 4, 4, 4};
  const auto U = smooth_gauge(extents, 65);
  const GaugeField field = test::to_product(make_lattice(extents), U);
  EXPECT_GT(plaquette(stout_smear(field, 0.1, 3)), plaquette(field));
  EXPECT_GT(plaquette(ape_smear(field, {})), plaquette(field));
  ApeParams rows;
  rows.projection = Su3Projection::gram_schmidt;
  EXPECT_GT(plaquette(ape_smear(field, rows)), plaquette(field));
  EXPECT_LT(unitarity_violation(ape_smear(field, rows)), test::rounding(20));
  // There is nothing to do: the links are the same, bit for bit.
  EXPECT_EQ(largest_difference(stout_smear(field, 0.1, 0), U), 0.0);
  EXPECT_EQ(largest_difference(stout_smear(field, 0.0, 2), U), 0.0);
  // Spatial smearing leaves temporal links alone.
  const GaugeField spatial = stout_smear(field, spatial_stout(0.1), 1);
  EXPECT_EQ(spatial.link({1, 2, 3, 0}, 3), field.link({1, 2, 3, 0}, 3));
  EXPECT_NE(spatial.link({1, 2, 3, 0}, 1), field.link({1, 2, 3, 0}, 1));
  EXPECT_THROW(stout_smear(field, 0.1, -1), BadArgument);
}

TEST(Smearing, stout_of_gold) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::field_F4();
  const GaugeField field = test::to_product(make_lattice(U.extents), U);
  for (const auto& [rho, levels, id] : {std::tuple{0.15, 1, "stout.rho0.15.n1.F4"},
                                        {0.15, 3, "stout.rho0.15.n3.F4"},
                                        {0.1, 4, "stout.rho0.1.n4.F4"}}) {
    const GaugeLoops found = measure_loops(stout_smear(field, rho, levels));
    const auto& expected = test::gold(id);
    EXPECT_NEAR(found.plaquette, expected.at("plaquette").get<double>(), 1e-12) << id;
    EXPECT_NEAR(found.plaquette_temporal, expected.at("plaquette_temporal").get<double>(), 1e-12) << id;
    EXPECT_NEAR(found.rectangle, expected.at("rectangle_1x2").get<double>(), 1e-12) << id;
    EXPECT_NEAR(found.link_trace, expected.at("link_trace").get<double>(), 1e-12) << id;
  }
}

}  // namespace in_test_smearing
}  // namespace trellis
