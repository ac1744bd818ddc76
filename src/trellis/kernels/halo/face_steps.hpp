#pragma once
/// The two steps of a face of a halo are kernels here: launches take what has an operator().
#include "trellis/base/annotations.hpp"

namespace trellis {

template <class Face>
struct PackFace {
  Face face;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { face.pack(index, slot); }
};

template <class Face>
struct UnpackFace {
  Face face;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { face.unpack(index, slot); }
};

}  // namespace trellis
