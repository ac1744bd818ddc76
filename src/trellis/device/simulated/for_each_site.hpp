#pragma once
/// Site loops of a simulated GPU (preset cuda-simulated): the launches for GPUs compiled by the host's
/// compiler. While a loop runs, device memory can be reached, else not; a functor that holds a pointer to
/// host memory is refused.
#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "trellis/base/exact_sum.hpp"
#include "trellis/device/launch_hints.hpp"
#include "trellis/device/simulated/device_memory.hpp"
#include "trellis/device/site_range.hpp"

namespace trellis::cuda {

/// Bytes of F that are looked at: without tail padding, which __builtin_clear_padding leaves as it is, and
/// without as much as it may be (members at the end are numbers).
template <class F>
size_t bytes_of_members() {
  struct Behind : F {
    char c;
  };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  return std::min(sizeof(F) - (alignof(F) > 8 ? alignof(F) - 8 : 0), __builtin_offsetof(Behind, c));
#pragma GCC diagnostic pop
}

template <class F, class Body>
void simulate_launch(const SiteRange& range, const F& f, const Body& body) {
  static_assert(std::is_trivially_copyable_v<F>, "what travels to a GPU is copied byte by byte");
  F bytes = f;
  __builtin_clear_padding(&bytes);
  require_no_host_pointers(&bytes, bytes_of_members<F>());
  require_no_host_pointers(&range.list, sizeof(range.list));
  const DeviceMemoryAccess access;
  for (int i = range.begin; i < range.end; ++i) body(i - range.begin, range.list ? range.list[i] : i);
}

inline constexpr int threads_per_block = 128;

template <class F>
void for_each_site(const SiteRange& range, int slots, const F& f, int /*threads*/ = threads_per_block) {
  simulate_launch(range, f, [&](int, int site) {
    for (int slot = 0; slot < slots; ++slot) {
      if constexpr (std::is_invocable_v<const F&, int, int>)
        f(site, slot);
      else
        f(site);
    }
  });
}

template <class F>
void for_each_site_in_groups(const SiteRange& range, const launch::ColumnGroups& groups, const F& f,
                             int /*threads*/ = threads_per_block) {
  simulate_launch(range, f, [&](int, int site) {
    for (int group = 0; group < groups.count(); ++group)
      for (int slot = groups.begin(group); slot < groups.end(group); ++slot) f(site, slot);
  });
}

template <int N, class F>
std::array<double, N> terms_of(const F& f, int site) {
  std::array<double, N> terms;
  if constexpr (std::is_invocable_v<const F&, int, double(&)[N]>) {
    double values[N];
    f(site, values);
    for (int k = 0; k < N; ++k) terms[k] = values[k];
  } else if constexpr (N == 1 && std::is_convertible_v<std::invoke_result_t<const F&, int>, double>) {
    terms[0] = f(site);
  } else {
    const auto values = f(site);
    for (int k = 0; k < N; ++k) terms[k] = values[k];
  }
  return terms;
}

template <int N, class F>
void reduce_sites(const SiteRange& range, const F& f, ExactSum* sums) {
  simulate_launch(range, f, [&](int, int site) {
    const std::array<double, N> terms = terms_of<N>(f, site);
    for (int k = 0; k < N; ++k) sums[k].add(terms[k]);
  });
}

template <class F>
double maximum_over_sites(const SiteRange& range, const F& f) {
  double largest = 0;
  simulate_launch(range, f, [&](int, int site) {
    const double value = terms_of<1>(f, site)[0];
    if (!(value <= largest)) largest = value == value ? value : std::numeric_limits<double>::infinity();
  });
  return largest;
}

/// Buffer and sums of rows of terms, for launches that need both.
double* term_buffer(size_t count);
void reduce_rows(const double* terms, int count, size_t stride, int rows, ExactSum* sums);

}  // namespace trellis::cuda
