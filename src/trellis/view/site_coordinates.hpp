#pragma once
/// These are the coordinates of a site from its number, where blocks hold one site (lattice/site_layout.hpp
/// has them for all layouts).
#include "trellis/base/annotations.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis {

class SiteCoordinates {
 public:
  SiteCoordinates(const Geometry& geometry, int parity)
      : parity_{parity ^ (site_parity(geometry.origin()) & 1)} {
    for (int mu = 0; mu < Nd; ++mu) {
      local_[mu] = geometry.local()[mu];
      origin_[mu] = geometry.origin()[mu];
    }
  }

  /// Sets x to the local coordinates of a site of the parity.
  TRELLIS_SITE_FN void local(int site, int (&x)[Nd]) const {
    set(2 * site, x);
    if (((x[0] + x[1] + x[2] + x[3]) & 1) != parity_) set(2 * site + 1, x);
  }
  /// Sets x to its global coordinates.
  TRELLIS_SITE_FN void global(int site, int (&x)[Nd]) const {
    local(site, x);
    for (int mu = 0; mu < Nd; ++mu) x[mu] += origin_[mu];
  }

 private:
  TRELLIS_SITE_FN void set(int index, int (&x)[Nd]) const {
    for (int mu = 0; mu < Nd; ++mu) {
      x[mu] = index % local_[mu];
      index /= local_[mu];
    }
  }

  int local_[Nd], origin_[Nd], parity_;
};

}  // namespace trellis
