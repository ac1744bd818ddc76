#pragma once
/// Kernels ask for what a later block needs while this one is computed. Views of links do it by themselves
/// where their field says so (RawField::blocks_ahead): a walk makes its kernel from such fields where a trial
/// finds that faster (device/cpu/walk/read_ahead.hpp).
#include <cstddef>

#include "trellis/base/annotations.hpp"

namespace trellis {

/// Asks for cache lines to come into the second-level cache. Addresses behind the end of an array do no harm.
/// It does nothing in CUDA.
template <size_t bytes>
TRELLIS_SITE_FN void ask_for([[maybe_unused]] const void* data) {
#ifndef __CUDACC__
  const char* lines = static_cast<const char*>(data);
#pragma GCC unroll 32
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(lines + i, 0, 2);
#endif
}

}  // namespace trellis
