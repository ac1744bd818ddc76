#pragma once
/// Kernels over the aggregates of multigrid share this. Numbers of a coarse site lie in memory with the lanes
/// of the fine fields beside each other, [group][..][lane], until they go to coarse fields, which have one
/// lane (coarse_lanes.hpp).
#include "trellis/algebra/complex.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

struct SiteRange;

/// The sites of aggregates lie here (lattice/aggregates.hpp).
struct AggregateTable {
  const int32_t* sites = nullptr;  ///< they are [group][site]: block << 1 | parity
  int count = 0;                   ///< an aggregate has so many sites
};

inline constexpr int chiralities = 2;
inline constexpr int half_components = 6;  ///< one chirality of a spinor has so many complex numbers

/// It is the layout of coarse fields beside fine ones of a layout: CPUs take the rows of coarse matrices
/// together, not sites.
template <class Layout>
using CoarseLayout = std::conditional_t<std::is_base_of_v<GpuLayout, Layout>, Layout, CpuLayout<1>>;

}  // namespace trellis
