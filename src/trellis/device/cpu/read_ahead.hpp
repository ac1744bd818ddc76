#pragma once
/// Walks that read what a group of blocks needs before they compute it.
///
/// A hop takes links and neighbours from a dozen places, a few lines each, in an order that the hardware
/// does not foresee; on some processors it waits for most of these lines. Reads in sequence are foreseen. On
/// others, and where everything is in the L2 cache, they cost more than they save: lab/wilson_hop has
/// figures, and a trial decides.
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/device/cpu/walk_trial.hpp"

namespace trellis::cpu {

inline constexpr size_t cache_line = 64;

/// Reads a byte of every cache line.
inline void read_lines(const void* data, size_t bytes) {
  const volatile char* lines = static_cast<const char*>(data);
#pragma GCC unroll 8
  for (size_t i = 0; i < bytes; i += cache_line) static_cast<void>(lines[i]);
}
/// Asks for every cache line in order to write it.
inline void claim_lines(const void* data, size_t bytes) {
  const char* lines = static_cast<const char*>(data);
#pragma GCC unroll 8
  for (size_t i = 0; i < bytes; i += cache_line) __builtin_prefetch(lines + i, 1);
}

/// What a launch touches: of a block, and on the whole lattice of this rank.
struct Traffic {
  size_t bytes_of_block = 0, working_set = 0;
};

/// Calls launch(reads_ahead) and, where the working set leaves the caches, keeps count of which is faster.
template <class Launch>
void launch_tried(const SiteRange& range, const Traffic& traffic, WalkTrials& trials, const Launch& launch) {
  constexpr size_t l2_cache = size_t(512) << 10;
  if (traffic.working_set < l2_cache || range.size() == 0) return launch(false);
  WalkTrial& trial = trials.of(traffic.working_set);
  const auto start = std::chrono::steady_clock::now();
  launch(trial.takes_second());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  trial.record(seconds.count() / range.size());
}

/// Entries begin..end-1 by f(begin, end), a group of blocks at a time after read() of each.
template <class Read, class F>
void walk_groups(const int32_t* list, int begin, int end, size_t bytes_of_block, const Read& read,
                 const F& f) {
  constexpr size_t group_bytes = size_t(96) << 10;
  constexpr int largest_group = 8;
  const int group = int(std::clamp<size_t>(group_bytes / bytes_of_block, 1, largest_group));
  for (int first = begin; first < end; first += group) {
    const int last = std::min(end, first + group);
    walk(list, first, last, read);
    f(first, last);
  }
}

/// for_each_site(), perhaps with read(block) for a group of blocks before f(block).
template <class Read, class F>
void for_each_site_read_ahead(const SiteRange& range, const Traffic& traffic, WalkTrials& trials,
                              const Read& read, const F& f) {
  launch_tried(range, traffic, trials, [&](bool reads_ahead) {
    walk_in_shares(range, [&](int begin, int end) {
      const auto compute = [&](int first, int last) { walk(range.list, first, last, f); };
      reads_ahead ? walk_groups(range.list, begin, end, traffic.bytes_of_block, read, compute)
                  : compute(begin, end);
    });
  });
}

/// reduce_sites(), likewise.
template <size_t N, class Read, class F>
void reduce_sites_read_ahead(const SiteRange& range, const Traffic& traffic, WalkTrials& trials,
                             const Read& read, const F& f, ExactSum* sums) {
  launch_tried(range, traffic, trials, [&](bool reads_ahead) {
    walk_in_shares(range, [&](int begin, int end) {
      std::array<TermBuffer, N> buffers;
      const auto compute = [&](int first, int last) { collect(range.list, first, last, f, buffers); };
      reads_ahead ? walk_groups(range.list, begin, end, traffic.bytes_of_block, read, compute)
                  : compute(begin, end);
      merge(buffers, sums);
    });
  });
}

}  // namespace trellis::cpu
