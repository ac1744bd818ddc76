#pragma once
/// The slices of all planes (lattice/plane_slices.hpp) lie here where the kernels of a field can read them.
#include <deque>

#include "trellis/field/gauge_field.hpp"
#include "trellis/lattice/plane_slices.hpp"

namespace trellis {

struct PlaneTables {
  PlaneSlices slices;
  KernelTable<int32_t> blocks, places, plaquettes, inner;

  PlaneTables(const GaugeField& U, int mu, int nu)
      : slices{U.layout(), mu, nu},
        blocks{slices.blocks(), size_t(slices.slices()) * size_t(slices.blocks_per_slice()), U.backend()},
        places{slices.places(), size_t(U.layout().blocks()), U.backend()},
        plaquettes{slices.plaquettes(), U.backend()},
        inner{slices.inner(), U.backend()} {}
  PlaneTables(const PlaneTables&) = delete;  // the tables refer to the slices
  PlaneTables& operator=(const PlaneTables&) = delete;

  /// Fills the part of a SliceForceCall.
  template <class Call>
  void describe(Call& call) const {
    call.blocks_per_slice = slices.blocks_per_slice();
    call.blocks = blocks.data();
    call.inner = inner.data();
    call.inner_count = int(inner.size());
  }
};

/// Makes the tables of the planes (mu < nu) in order.
inline void make_plane_tables(std::deque<PlaneTables>& planes, const GaugeField& U) {
  planes.clear();
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = mu + 1; nu < Nd; ++nu) planes.emplace_back(U, mu, nu);
}

}  // namespace trellis
