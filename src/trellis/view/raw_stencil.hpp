#pragma once
/// Launches take these untyped descriptions (stencil_view.hpp has what the kernels see).
#include <cstdint>

#include "trellis/view/site_array.hpp"
#include "trellis/view/stencil_view.hpp"

namespace trellis {

struct RawStencil {
  const int32_t* table = nullptr;  ///< [block][leg]
  StencilLeg legs[8];
};

}  // namespace trellis
