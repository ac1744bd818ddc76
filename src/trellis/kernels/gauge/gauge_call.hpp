#pragma once
/// Every gauge kernel needs this of a configuration.
#include "trellis/view/gauge_view.hpp"

namespace trellis {

struct SiteRange;
class Geometry;

/// It has links with an up-to-date halo, and the tables of their layout.
struct GaugeCall {
  RawField links;
  ExtendedTables tables;
  size_t bytes = 0;  ///< the links take so many on this rank, on the CPU
  const Geometry* geometry = nullptr;
};

/// It has flops and must-move bytes per site of a kernel (bytes: every field read or written once, in
/// double).
struct KernelCost {
  double flops, bytes;
};

}  // namespace trellis
