#pragma once
/// These are the site loops of a simulated GPU (preset cuda-simulated): the launches for GPUs compiled by the
/// host's compiler. While a loop runs, device memory can be reached, else not; a functor that holds a pointer
/// to host memory is refused. Loops run at once, or when the schedule of the queues lets them (queues.hpp).
#include <algorithm>
#include <type_traits>

#include "trellis/device/cuda/partial_sum.hpp"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/device/in_parts.hpp"
#include "trellis/device/launch_hints.hpp"
#include "trellis/device/simulated/device_memory.hpp"
#include "trellis/device/simulated/queues.hpp"
#include "trellis/device/site_range.hpp"

namespace trellis::cuda {

/// Throws Error if what travels to the GPU holds a pointer to memory of the host. Counts a launch.
template <class F>
void check_launch(const SiteRange& range, const F& f) {
  static_assert(std::is_trivially_copyable_v<F>, "what travels to a GPU is copied byte by byte");
  // Padding holds what the stack held before. It is cleared within a union: of an object by itself g++ 12
  // leaves the padding at its end, and clears what lies behind an array of objects in wrong places.
  union {
    F object;
  } copy{f};
  __builtin_clear_padding(&copy);
  require_no_host_pointers(&copy, sizeof(copy));
  require_no_host_pointers(&range.list, sizeof(range.list));
  count_kernel();
}

inline int site_of(const SiteRange& range, int i) {
  return range.list ? range.list[range.begin + i] : range.begin + i;
}

/// Calls body(functor, site) with the copy of the functor that travels to the device, in the queue of
/// launches.
template <class F, class Body>
void simulate_launch(const SiteRange& range, const F& f, const Body& body) {
  check_launch(range, f);
  simulated::submit(simulated::launch_queue(), [range, f, body] {
    for (int i = 0; i < range.size(); ++i) body(f, site_of(range, i));
  });
}

inline constexpr int threads_per_block = 128;

template <class F>
void for_each_site(const SiteRange& range, int slots, const F& f, int /*threads*/ = threads_per_block) {
  simulate_launch(range, f, [slots](const F& g, int site) {
    for (int slot = 0; slot < slots; ++slot) {
      if constexpr (std::is_invocable_v<const F&, int, int>)
        g(site, slot);
      else
        g(site);
    }
  });
}

template <int S, class F>
void for_each_site_of_columns(const SiteRange& range, int first_slot, int groups, const F& f,
                              int /*threads*/ = threads_per_block) {
  if (groups == 0) return;
  simulate_launch(range, f, [first_slot, groups](const F& g, int site) {
    for (int group = 0; group < groups; ++group) g.template compute<S>(site, first_slot + S * group);
  });
}

template <int parts, class F>
void for_each_site_in_parts(const SiteRange& range, int slots, const F& f) {
  simulate_launch(range, f, [slots](const F& g, int site) {
    for (int slot = 0; slot < slots; ++slot) compute_in_parts<parts>(g, site, slot);
  });
}

template <class F>
void for_each_site_in_ordered_sums(const SiteRange& range, int slots, const F& f) {
  simulate_launch(range, f, [slots](const F& g, int site) {
    for (int slot = 0; slot < slots; ++slot) compute_in_ordered_sums(g, site, slot);
  });
}

/// Adds the sum of what a block's threads add, as a launch of sums hands out the sites: thread after thread.
template <int N, class F>
void add_block_of_terms(const SiteRange& range, const F& f, int column, int block, int blocks,
                        SumInMaking* rows) {
  PartialSum of_block[N];
  for (int thread = 0; thread < threads_per_block; ++thread) {
    PartialSum own[N];
    for (int i = block * threads_per_block + thread; i < range.size(); i += blocks * threads_per_block) {
      double terms[N];
      terms_of<N>(f, site_of(range, i), column, terms);
      for (int k = 0; k < N; ++k) own[k].add(terms[k]);
    }
    for (int k = 0; k < N; ++k) of_block[k].merge(own[k]);
  }
  for (int k = 0; k < N; ++k) {
    for (int part = 0; part < exact_sum_bins; ++part) rows[k].add_part(of_block[k], part);
    rows[k].note(of_block[k]);
  }
}

template <int N, class F>
void reduce_sites(const SiteRange& range, int columns, const F& f, ExactSum* sums) {
  if (range.size() == 0 || columns == 0) return;
  const SumMemory memory = sum_memory(columns * N);
  check_launch(range, f);
  simulated::submit(simulated::launch_queue(), [range, columns, f, memory] {
    const int blocks = blocks_of_sum(range.size(), threads_per_block);
    for (int column = 0; column < columns; ++column)
      for (int block = 0; block < blocks; ++block)
        add_block_of_terms<N>(range, f, column, block, blocks, memory.in_making + size_t(column) * N);
    for (int row = 0; row < columns * N; ++row) {
      memory.finished[row] = memory.in_making[row].finished();
      memory.in_making[row] = {};
    }
  });
  take_sums(memory, columns * N, sums);
}

template <class F>
double maximum_over_sites(const SiteRange& range, const F& f) {
  Bits largest = 0;
  simulate_launch(range, f, [&largest](const F& g, int site) {
    double terms[1];
    terms_of<1>(g, site, 0, terms);
    largest = std::max(largest, bits_of(terms[0]) & ~(Bits(1) << 63));
  });
  count_wait();
  simulated::wait_for(simulated::launch_queue());
  return maximum_of(largest);
}

}  // namespace trellis::cuda
