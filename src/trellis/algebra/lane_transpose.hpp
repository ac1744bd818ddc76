#pragma once
/// This file transposes as many vectors as each of them has lanes, in registers.
#include <utility>

#include "trellis/algebra/lanes.hpp"
#include "trellis/algebra/unroll.hpp"

namespace trellis {

namespace detail {
/// Exchanges lane i of the first with lane i ^ bit of the second, where they differ in that bit.
template <int bit, class T, int W, int... I>
TRELLIS_SITE_FN void exchange_lanes(Lanes<T, W, true>& a, Lanes<T, W, true>& b,
                                    std::integer_sequence<int, I...>) {
  using L = Lanes<T, W, true>;
  const L first(typename L::Vector(__builtin_shufflevector(a.v, b.v, ((I & bit) != 0 ? W + I - bit : I)...)));
  b = L(typename L::Vector(__builtin_shufflevector(a.v, b.v, ((I & bit) != 0 ? W + I : I + bit)...)));
  a = first;
}
}  // namespace detail

/// Transposes: lane j of r[i] becomes lane i of r[j].
template <int bit = 1, class T, int W>
TRELLIS_SITE_FN void transpose(Lanes<T, W, true> (&r)[W]) {
  if constexpr (bit < W) {
    unroll<W>([&](auto i) TRELLIS_INLINE_LAMBDA {
      if constexpr ((i & bit) == 0)
        detail::exchange_lanes<bit>(r[i], r[i + bit], std::make_integer_sequence<int, W>());
    });
    transpose<2 * bit>(r);
  }
}

}  // namespace trellis
