// ranks: 1 2 4 8
/// Every lane of every ghost block holds the link of the true site, for halos of width 1, 2 and 3. This holds
/// for corners, too, and where a lane's part of the lattice is shorter than the halo.
#include <gtest/gtest.h>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"

namespace trellis {
namespace in_test_gauge_halo {

/// Returns true for blocks within `layers` of the inner ones.
bool is_within(const ExtendedLayout& layout, const Coord& x, int layers) {
  for (int mu = 0; mu < Nd; ++mu) {
    const int halo = layout.geometry().is_split(mu) ? layers : 0;
    if (x[mu] < -halo || x[mu] >= layout.sub_extents()[mu] + halo) return false;
  }
  return true;
}

double stored(const GaugeField& U, int block, int mu, int k, int lane) {
  return static_cast<const double*>(
      U.raw().data)[((size_t(block) * Nd + size_t(mu)) * 18 + size_t(k)) * size_t(U.lanes()) + size_t(lane)];
}

/// Counts the reals within `layers` that are not those of the whole field.
int wrong_reals(const GaugeField& U, const reference::Gauge& whole, int layers) {
  const ExtendedLayout& layout = U.layout();
  const Geometry& geometry = U.geometry();
  int wrong = 0;
  for (int block = 0; block < layout.blocks(); ++block) {
    if (!is_within(layout, layout.coord(block, 0), layers)) continue;
    for (int lane = 0; lane < layout.lanes(); ++lane) {
      Coord x = geometry.to_global(layout.coord(block, lane));
      for (int mu = 0; mu < Nd; ++mu) x[mu] = (x[mu] + geometry.lattice()[mu]) % geometry.lattice()[mu];
      for (int mu = 0; mu < Nd; ++mu) {
        const auto& expected = whole.link(site_index(x, geometry.lattice()), mu);
        for (int k = 0; k < 18; ++k) {
          const Complex<double>& e = expected.e[k / 6][k / 2 % 3];
          wrong += stored(U, block, mu, k, lane) != (k % 2 ? e.im : e.re);
        }
      }
    }
  }
  return wrong;
}

void check(const Coord& extents) {
  const auto whole = test::random_gauge(extents, 31);
  for (const Coord& grid : legal_process_grids(extents, world()->size(), 4)) {
    const LatticePtr lattice = make_lattice(extents, grid);
    const GaugeField source = test::to_product(lattice, whole, 1);
    std::vector<double> links(source.canonical_size());
    source.to_canonical(links.data());
    for (const int lanes : {1, 4, 8, 16})
      for (const int width : {1, 2, 3}) {
        GaugeField U(lattice, lanes, width);
        for (int layers = 1; layers <= width; ++layers) {
          U.from_canonical(links.data());
          U.update_halo(layers);
          EXPECT_EQ(wrong_reals(U, whole, layers), 0)
              << to_string(extents) << " grid " << to_string(grid) << " lanes " << lanes << " width " << width
              << " layers " << layers;
        }
        EXPECT_THROW(U.update_halo(width + 1), BadArgument);
      }
  }
}

TEST(GaugeHalo, holds_the_true_sites_in_every_lane) {
  const int ranks = world()->size();
  check({4, 4, 8, 8});
  if (ranks <= 4) check({8, 4, 4, 12});
  if (ranks == 8) check({8, 8, 8, 4});
}

TEST(GaugeHalo, too_short_grids_are_refused_with_the_legal_ones) {
  const Coord extents{4, 4, 4, 2 * world()->size()};
  const LatticePtr lattice = make_lattice(extents, {1, 1, 1, world()->size()});
  EXPECT_NO_THROW(GaugeField(lattice, 1, 2));
  if (world()->size() == 1)
    EXPECT_NO_THROW(GaugeField(lattice, 1, 3));
  else
    EXPECT_THROW(GaugeField(lattice, 1, 3), BadArgument);
}

}  // namespace in_test_gauge_halo
}  // namespace trellis
