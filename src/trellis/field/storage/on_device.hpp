#pragma once
/// A kernel does work for fields on a GPU, and other code does it for those that the host reaches.
#include "trellis/base/precision.hpp"
#include "trellis/device/launch_count.hpp"
#include "trellis/view/layout.hpp"

namespace trellis {

/// Calls f.operator()<Layout>() with the layout of a GPU's fields, counts it as a launch and returns true
/// where fields of this backend lie on a GPU. Returns false where the host reaches them.
template <class F>
bool on_device([[maybe_unused]] Backend backend, [[maybe_unused]] F&& f) {
#ifdef TRELLIS_WITH_CUDA
  if (backend == Backend::cuda) {
    count_launches();
    f.template operator()<CudaLayout>();
    return true;
  }
#endif
  return false;
}

}  // namespace trellis
