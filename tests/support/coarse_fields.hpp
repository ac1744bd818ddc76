#pragma once
/// Tests of multigrid set fields on fine and coarse lattices at random, and compare them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/multigrid/matrix.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/site_field.hpp"

namespace trellis::test {

/// Sets every number of a field from its global site, slot and component.
inline void fill_random(SiteField& field, uint64_t seed) {
  std::vector<double> reals(size_t(field.reals()));
  const Geometry& g = field.geometry();
  for (int64_t i = 0; i < g.local_volume(); ++i) {
    const Coord x = site_coord(i, g.local());
    const SitePosition at = field.layout().position(x);
    if (field.subset() != Subset::full && at.parity != first_parity(field.subset())) continue;
    for (int slot = 0; slot < field.slots(); ++slot) {
      Random random(seed + 1000 * uint64_t(g.global_index(x)) + uint64_t(slot));
      for (double& r : reals) r = random.symmetric();
      field.set_site(at, slot, reals.data());
    }
  }
}

/// Returns the largest |a - b| / |a| of a slot.
inline double largest_difference(const SiteField& a, const SiteField& b) {
  SiteField difference = SiteField::like(a);
  combine(difference, 1.0, a, -1.0, b);
  double worst = 0;
  const Coefficients of_difference = norm2_each(difference), of_a = norm2_each(a);
  for (size_t i = 0; i < of_a.size(); ++i) worst = std::max(worst, std::sqrt(of_difference[i] / of_a[i]));
  return worst;
}

/// Compares numbers of a coarse matrix, [column][row][re, im], with one of the reference.
inline double largest_difference(const std::vector<double>& reals, const reference::Matrix& expected) {
  double worst = 0;
  for (int column = 0; column < expected.columns; ++column)
    for (int row = 0; row < expected.rows; ++row) {
      const size_t i = 2 * (size_t(column) * size_t(expected.rows) + size_t(row));
      worst = std::max({worst, std::abs(reals[i] - expected(row, column).re),
                        std::abs(reals[i + 1] - expected(row, column).im)});
    }
  return worst;
}

/// Changes the sign of the lower half of the numbers of a site: this is gamma5 of spinors and of coarse
/// fields.
inline SiteField gamma5(const SiteField& in) {
  SiteField out = SiteField::like(in);
  std::vector<double> reals(size_t(in.reals()));
  for (int64_t i = 0; i < in.geometry().local_volume(); ++i) {
    const SitePosition at = in.layout().position(site_coord(i, in.geometry().local()));
    for (int slot = 0; slot < in.slots(); ++slot) {
      in.get_site(at, slot, reals.data());
      for (size_t k = reals.size() / 2; k < reals.size(); ++k) reals[k] = -reals[k];
      out.set_site(at, slot, reals.data());
    }
  }
  return out;
}

}  // namespace trellis::test
