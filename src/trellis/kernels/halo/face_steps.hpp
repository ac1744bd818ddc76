#pragma once
/// The steps of faces of a halo are kernels: launches take what has an operator(). All faces are packed
/// together (view/faces_in_range.hpp), and each is unpacked when it has come.
#include "trellis/view/faces_in_range.hpp"

namespace trellis {

template <class Face>
struct UnpackFace {
  Face face;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { face.unpack(index, slot); }
};

}  // namespace trellis
