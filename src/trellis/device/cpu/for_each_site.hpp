#pragma once
/// These are the site loops of the CPU backend (also of the emulated GPU layout). They call f(block), which
/// for exact sums returns terms.
#include <algorithm>
#include <array>
#include <limits>
#include <mutex>

#include "trellis/algebra/lane_functions.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/device/cpu/thread_team.hpp"
#include "trellis/device/site_range.hpp"

namespace trellis::cpu {

/// Calls f(block) for entries begin..end-1. It is out of line, so that a kernel is compiled once for one and
/// more threads.
template <class F>
[[gnu::noinline]] void walk(const int32_t* list, int begin, int end, const F& f) {
  for (int i = begin; i < end; ++i) f(list ? list[i] : i);
}

/// Calls f(begin, end) for each thread's share of the range.
template <class F>
void walk_in_shares(const SiteRange& range, const F& f) {
  if (range.size() == 0) return;
  on_threads([&](int64_t thread, int64_t threads) {
    f(range.begin + int(range.size() * thread / threads),
      range.begin + int(range.size() * (thread + 1) / threads));
  });
}

/// Calls f(block) for every block of the range.
template <class F>
void for_each_site(const SiteRange& range, const F& f) {
  walk_in_shares(range, [&](int begin, int end) { walk(range.list, begin, end, f); });
}

/// Collects terms and deposits them in an ExactSum a buffer at a time: eight lanes are split into bins at
/// once.
class TermBuffer {
 public:
  template <class R>
  void push(const R& terms) {
    constexpr int W = RealTraits<R>::width;
    store_real(buffer_ + count_, terms);
    count_ += W;
    if (count_ + max_lanes > capacity) flush();
  }
  void flush();
  ExactSum take() {
    flush();
    return sum_;
  }

 private:
  static constexpr int capacity = 512;
  alignas(64) double buffer_[capacity];
  int count_ = 0;
  ExactSum sum_;
};

/// Pushes the terms of f(block) for entries begin..end-1. It is out of line, as walk() is.
template <size_t N, class F>
[[gnu::noinline]] void collect(const int32_t* list, int begin, int end, const F& f,
                               std::array<TermBuffer, N>& buffers) {
  for (int i = begin; i < end; ++i) {
    const auto terms = f(list ? list[i] : i);
    for (size_t k = 0; k < N; ++k) buffers[k].push(terms[k]);
  }
}
/// Adds a thread's terms to the sums of all threads.
template <size_t N>
void merge(std::array<TermBuffer, N>& buffers, ExactSum* sums) {
  std::array<ExactSum, N> own;
  for (size_t k = 0; k < N; ++k) own[k] = buffers[k].take();
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  for (size_t k = 0; k < N; ++k) sums[k].merge(own[k]);
}

/// Adds to sums[k] the sum over the range of term k of f(block) -> std::array<LaneReal<double, W>, N>.
/// The result has the same bits for every order of sites, thread count and lane count.
template <size_t N, class F>
void reduce_sites(const SiteRange& range, const F& f, ExactSum* sums) {
  walk_in_shares(range, [&](int begin, int end) {
    std::array<TermBuffer, N> buffers;
    collect(range.list, begin, end, f, buffers);
    merge(buffers, sums);
  });
}

/// Returns the same for entries begin..end-1.
template <class F>
[[gnu::noinline]] double maximum(const int32_t* list, int begin, int end, const F& f) {
  double largest = 0;
  for (int i = begin; i < end; ++i) {
    const auto values = f(list ? list[i] : i);
    for (int k = 0; k < RealTraits<std::remove_cv_t<decltype(values)>>::width; ++k) {
      const double value = lane(values, k);
      if (!(value <= largest)) largest = value == value ? value : std::numeric_limits<double>::infinity();
    }
  }
  return largest;
}

/// Returns the largest value in any lane of f(block) -> LaneReal<double, W> over the range, at least 0;
/// infinity if a value is NaN.
template <class F>
double maximum_over_sites(const SiteRange& range, const F& f) {
  double largest = 0;
  std::mutex one_at_a_time;
  walk_in_shares(range, [&](int begin, int end) {
    const double own = maximum(range.list, begin, end, f);
    const std::lock_guard lock(one_at_a_time);
    if (own > largest) largest = own;
  });
  return largest;
}

}  // namespace trellis::cpu
