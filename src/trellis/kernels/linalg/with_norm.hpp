#pragma once
/// Kernels that write a field become kernels that add up its |out|^2 in the same pass.
#include <array>

#include "trellis/base/annotations.hpp"

namespace trellis {

template <class Writer>
struct WithNorm {
  Writer writer;
  TRELLIS_SITE_FN std::array<typename Writer::Kernel::Term, 1> operator()(int block) const {
    return {writer.with_norm(block)};
  }
};

}  // namespace trellis
