#pragma once
/// Kernels in parts, or in terms of ordered sums, share the work of one site among several threads of a GPU
/// (device/launch.hpp); where one thread does all, this is how.
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

/// Calls kernel.term(site, slot, t, term) for all t < kernel.terms(), and after each one kernel.add(sum,
/// term, which) for all sums, then kernel.finish(site, slot, which, sum).
template <class Kernel>
void compute_in_ordered_sums(const Kernel& kernel, int site, int slot) {
  typename Kernel::Sum sums[Kernel::sums] = {};
  for (int t = 0; t < kernel.terms(); ++t) {
    typename Kernel::Term term;
    kernel.term(site, slot, t, term);
    for (int which = 0; which < Kernel::sums; ++which) kernel.add(sums[which], term, which);
  }
  for (int which = 0; which < Kernel::sums; ++which) kernel.finish(site, slot, which, sums[which]);
}

}  // namespace trellis
