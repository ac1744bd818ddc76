#pragma once
/// These walks bring nearer what blocks need before they compute them.
///
/// A hop takes links and neighbours from a dozen places, a few lines each, in an order that the hardware does
/// not foresee; on some processors it waits for most of these lines. Reads in sequence are foreseen, and
/// lines that were asked for come while the block before is computed. On other processors, and where
/// everything is in the L2 cache, both cost more than they save: lab/wilson_hop has figures, and a trial
/// decides.
#include "trellis/base/cache_line.hpp"
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/device/launch_trials.hpp"

namespace trellis::cpu {

/// Reads a byte of every cache line.
inline void read_lines(const void* data, size_t bytes) {
  const volatile char* lines = static_cast<const char*>(data);
#pragma GCC unroll 8
  for (size_t i = 0; i < bytes; i += cache_line) static_cast<void>(lines[i]);
}
/// Asks for every cache line in order to read it.
inline void ask_for_lines(const void* data, size_t bytes) {
  const char* lines = static_cast<const char*>(data);
#pragma GCC unroll 8
  for (size_t i = 0; i < bytes; i += cache_line) __builtin_prefetch(lines + i);
}
/// Asks for every cache line in order to write it.
inline void claim_lines(const void* data, size_t bytes) {
  const char* lines = static_cast<const char*>(data);
#pragma GCC unroll 8
  for (size_t i = 0; i < bytes; i += cache_line) __builtin_prefetch(lines + i, 1);
}

/// A launch touches so much of a block, and on the whole lattice of this rank.
struct Traffic {
  size_t bytes_of_block = 0;
  LaunchSubject whole = {};
};

/// A walk does this before it computes: nothing, or read what a group of blocks needs, or ask for what the
/// next block needs. With `along` the kernel's views ask, for a piece of a later block with each piece of
/// this one.
enum class Ahead { nothing, read, ask, along };
inline constexpr int ways_ahead = 3;        ///< kernels that do not ask have so many
inline constexpr int ways_ahead_along = 4;  ///< those that ask have so many

/// Calls launch(ahead) and, where the working set leaves the caches, keeps count of which is fastest.
template <class Launch>
void launch_tried(const SiteRange& range, const Traffic& traffic, LaunchTrials& trials,
                  const Launch& launch) {
  constexpr size_t l2_cache = size_t(512) << 10;
  if (traffic.whole.working_set < l2_cache || range.size() == 0) return launch(Ahead::nothing);
  trials.launch(traffic.whole, range.size(), [&](int way) { launch(Ahead(way)); });
}

/// This brings nearer what a block needs, by a bring(block, lines) that calls lines(data, bytes) for all of
/// it and outlives this. It is compiled once for each kind of them, and not in each walk of each kernel,
/// where it made a seventh of the code of staggered hops; a call costs little beside what it brings.
class Bring {
 public:
  template <class F>
  Bring(const F& bring) : bring_{&bring}, read_{by<F, read_lines>}, ask_{by<F, ask_for_lines>} {}

  void read(int block) const { read_(bring_, block); }
  void ask_for(int block) const { ask_(bring_, block); }

 private:
  template <class F, auto& lines>
  [[gnu::noinline]] static void by(const void* bring, int block) {
    (*static_cast<const F*>(bring))(block, lines);
  }
  const void* bring_;
  void (*read_)(const void*, int);
  void (*ask_)(const void*, int);
};

/// Computes entries begin..end-1 by f(begin, end), a group of blocks at a time after reading the lines of
/// each.
template <class F>
void walk_groups(const int32_t* list, int begin, int end, size_t bytes_of_block, const Bring& bring,
                 const F& f) {
  constexpr size_t group_bytes = size_t(96) << 10;
  constexpr int largest_group = 8;
  const int group = int(std::clamp<size_t>(group_bytes / bytes_of_block, 1, largest_group));
  for (int first = begin; first < end; first += group) {
    const int last = std::min(end, first + group);
    for (int i = first; i < last; ++i) bring.read(list ? list[i] : i);
    f(first, last);
  }
}

/// Computes entries begin..end-1 by f(begin, end), each after asking for the lines of the next.
template <class F>
void walk_asking(const int32_t* list, int begin, int end, const Bring& bring, const F& f) {
  for (int i = begin; i < end; ++i) {
    if (i + 1 < end) bring.ask_for(list ? list[i + 1] : i + 1);
    f(i, i + 1);
  }
}

template <class F>
void walk_ahead(Ahead ahead, const int32_t* list, int begin, int end, size_t bytes_of_block,
                const Bring& bring, const F& f) {
  switch (ahead) {
    case Ahead::nothing:
    case Ahead::along:
      return f(begin, end);
    case Ahead::read:
      return walk_groups(list, begin, end, bytes_of_block, bring, f);
    case Ahead::ask:
      return walk_asking(list, begin, end, bring, f);
  }
}

/// Returns make(ahead) of an f that never asks by itself.
template <class F>
auto in_every_way(const F& f) {
  return [&f](Ahead) -> const F& { return f; };
}
/// Returns make(ahead) of an f that asks for what lies so many blocks further on, once it is told. It calls
/// f(kernel, block) with a kernel from make_kernel(blocks_ahead), where 0 asks for nothing.
template <class MakeKernel, class F>
auto asking_along(int blocks_ahead, const MakeKernel& make_kernel, const F& f) {
  return [&, blocks_ahead](Ahead ahead) {
    // This is not forced inline: a walk's counters would take registers that the kernel needs.
    return [kernel = make_kernel(ahead == Ahead::along ? blocks_ahead : 0), &f](int block) {
      return f(kernel, block);
    };
  };
}

/// Does for_each_site() of f = make(ahead), perhaps after bringing what the block needs. @pre the trials have
/// ways_ahead ways, or ways_ahead_along where make(Ahead::along) gives an f that asks by itself
template <class Make>
void for_each_site_read_ahead(const SiteRange& range, const Traffic& traffic, LaunchTrials& trials,
                              const Bring& bring, const Make& make) {
  launch_tried(range, traffic, trials, [&](Ahead ahead) {
    const auto& f = make(ahead);
    walk_in_shares(range, [&](int begin, int end) {
      walk_ahead(ahead, range.list, begin, end, traffic.bytes_of_block, bring,
                 [&](int first, int last) { walk(range.list, first, last, f); });
    });
  });
}

/// Does the same for reduce_sites().
template <size_t N, class Make>
void reduce_sites_read_ahead(const SiteRange& range, const Traffic& traffic, LaunchTrials& trials,
                             const Bring& bring, const Make& make, ExactSum* sums) {
  launch_tried(range, traffic, trials, [&](Ahead ahead) {
    const auto& f = make(ahead);
    walk_in_shares(range, [&](int begin, int end) {
      std::array<TermBuffer, N> buffers;
      walk_ahead(ahead, range.list, begin, end, traffic.bytes_of_block, bring,
                 [&](int first, int last) { collect(range.list, first, last, f, buffers); });
      merge(buffers, sums);
    });
  });
}

}  // namespace trellis::cpu
