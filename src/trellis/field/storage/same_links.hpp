#pragma once
/// Links are compared where they lie.
#include "trellis/field/gauge_field.hpp"

namespace trellis {

/// Returns true if the inner links of two fields have the same bits, and are stored alike. Collective.
bool has_same_links(const GaugeField& U, const GaugeField& V);

}  // namespace trellis
