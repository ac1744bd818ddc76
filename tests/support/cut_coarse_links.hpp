#pragma once
/// A coarse operator without its legs between boxes has the boxes side by side.
#include "trellis/multigrid/coarse_operator.hpp"

namespace trellis::test {

inline CoarseMatrixPtr without_legs_between(const CoarseMatrix& D, const Coord& box) {
  SiteField links = D.links();
  const std::vector<double> zero(size_t(links.reals()), 0.0);
  const Geometry& g = links.geometry();
  for (int64_t i = 0; i < g.local_volume(); ++i) {
    const Coord x = site_coord(i, g.local());
    for (int mu = 0; mu < Nd; ++mu)
      if ((x[mu] + 1) % box[mu] == 0 && box[mu] < g.lattice()[mu])
        links.set_site(links.layout().position(x), mu, zero.data());
  }
  return std::make_shared<CoarseMatrix>(links, D.diagonal(), links.precision());
}

}  // namespace trellis::test
