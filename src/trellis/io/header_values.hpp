#pragma once
/// The numbers that files' headers carry to be checked, and the check that links are SU(3).
#include "trellis/field/gauge_field.hpp"

namespace trellis::io {

struct HeaderValues {
  double plaquette;   ///< mean of Re tr P / 3
  double link_trace;  ///< mean of Re tr U / 3
};

/// Collective; the same bits on any number of ranks.
HeaderValues header_values(const GaugeField& U);

/// The largest |(U U^dagger - 1)_ij| and |det U - 1| over all links of all ranks; infinite if a link holds NaN.
double largest_unitarity_violation(const Geometry& geometry, const double* canonical_links, Communicator& communicator);

}  // namespace trellis::io
