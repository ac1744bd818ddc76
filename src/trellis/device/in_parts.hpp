#pragma once
/// A kernel in parts leaves one part of a site's work to each of several threads of a GPU; where one thread
/// takes all parts, this is how.
#include "trellis/base/annotations.hpp"

namespace trellis {

/// Calls kernel.part(site, slot, p, result) for all parts p, then kernel.finish(site, slot, of), where of(p)
/// is the result of part p.
template <int parts, class Kernel>
void compute_in_parts(const Kernel& kernel, int site, int slot) {
  typename Kernel::Part all[parts];
  for (int p = 0; p < parts; ++p) kernel.part(site, slot, p, all[p]);
  kernel.finish(
      site, slot, [&all](int p) TRELLIS_INLINE_LAMBDA -> const auto& { return all[p]; });
}

}  // namespace trellis
