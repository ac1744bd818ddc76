#pragma once
/// These are exact sums of so many terms as a launch asks for at run time.
#include <memory>

#include "trellis/device/cpu/for_each_site.hpp"

namespace trellis::cpu {

/// A piece has so many blocks: what several rows read of it stays in a core's second cache, and each read of
/// memory is a long one.
inline constexpr int blocks_of_piece = 128;

/// Calls f(begin, end, buffers) for pieces of begin..end-1. It is out of line, as walk() is.
template <class F>
[[gnu::noinline]] void collect_rows(int begin, int end, const F& f, TermBuffer* buffers) {
  for (int i = begin; i < end; i += blocks_of_piece) f(i, std::min(i + blocks_of_piece, end), buffers);
}

/// Adds to sums[row] the sum of what f(begin, end, buffers) pushes into buffers[row] for entries begin..end-1
/// of the range, which it gets in pieces. The result has the same bits for every order of sites, thread count
/// and lane count.
template <class F>
void reduce_rows(const SiteRange& range, int rows, const F& f, ExactSum* sums) {
  static std::mutex one_at_a_time;
  walk_in_shares(range, [&](int begin, int end) {
    const auto buffers =
        std::make_unique_for_overwrite<TermBuffer[]>(size_t(rows));  // to set them to zero costs as much
    collect_rows(begin, end, f, buffers.get());
    const std::lock_guard lock(one_at_a_time);
    for (size_t row = 0; row < size_t(rows); ++row) sums[row].merge(buffers[row].take());
  });
}

}  // namespace trellis::cpu
