#pragma once
/// The front end unrolls these loops. A kernel's small arrays become registers only if every index is a
/// constant before the compiler's scalar replacement runs; its own unrolling comes too late for that.
#include <type_traits>
#include <utility>

#include "trellis/base/annotations.hpp"

namespace trellis {

namespace detail {
template <class F, int... I>
TRELLIS_SITE_FN void unroll_indices(const F& f, std::integer_sequence<int, I...>) {
  (f(std::integral_constant<int, I>{}), ...);
}
}  // namespace detail

/// Calls f(std::integral_constant<int, i>) for i = 0..N-1. The lambda carries TRELLIS_INLINE_LAMBDA.
template <int N, class F>
TRELLIS_SITE_FN void unroll(const F& f) {
  detail::unroll_indices(f, std::make_integer_sequence<int, N>{});
}

}  // namespace trellis
