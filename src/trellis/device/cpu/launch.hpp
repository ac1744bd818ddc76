#pragma once
/// These are the launches on CPUs, of the emulated GPU layout too (device/launch.hpp).
#include <array>
#include <type_traits>

#include "trellis/device/cpu/for_each_group.hpp"
#include "trellis/device/cpu/reduce_rows.hpp"
#include "trellis/device/cpu/walk/read_ahead.hpp"
#include "trellis/device/cpu/walk/read_links.hpp"
#include "trellis/device/in_parts.hpp"
#include "trellis/device/launch_hints.hpp"

namespace trellis::launch {
inline namespace on_cpu {

namespace detail {
/// Such a kernel computes two right-hand sides together.
template <class Kernel>
concept TakesPairs = requires(const Kernel& kernel) {
  kernel.template compute<2>(0, 0);
};

template <class Kernel>
[[gnu::always_inline]] inline void compute_slots(const Kernel& kernel, int block, int slots) {
  if constexpr (TakesPairs<Kernel>) {
    int slot = 0;
    for (; slot + 2 <= slots; slot += 2) kernel.template compute<2>(block, slot);
    if (slot < slots) kernel.template compute<1>(block, slot);
  } else {
    for (int slot = 0; slot < slots; ++slot) kernel(block, slot);
  }
}

/// All launches of a kernel by a thread share their trials.
template <class Kernel, int ways>
LaunchTrials& trials_of() {
  thread_local LaunchTrials trials(ways, typeid(Kernel));
  return trials;
}

/// Returns bring(block, ..) of cpu/walk/read_ahead.hpp: it brings what the block reads, and what it writes.
template <class Lines>
auto bringing(const Lines& of_blocks) {
  return [&of_blocks](int block, const auto& read) {
    of_blocks.reads(block, read);
    of_blocks.writes(block, cpu::claim_lines);
  };
}
template <class Storage, class Lines>
cpu::Traffic traffic_of(const Lines& of_blocks, int slots, const WorkingSet& all) {
  return {of_blocks.bytes_of_block(), {all.bytes, all.geometry, slots, storage_name<Storage>()}};
}
}  // namespace detail

template <class Kernel>
void for_each_site(const SiteRange& range, const Kernel& kernel) {
  cpu::for_each_site(range, [&](int block) { kernel(block); });
}

template <class Kernel>
void for_each_site(const SiteRange& range, int slots, const Kernel& kernel, Columns = {}) {
  cpu::for_each_site(range, [&](int block) { detail::compute_slots(kernel, block, slots); });
}

template <int parts, class Kernel>
void for_each_site_in_parts(const SiteRange& range, int slots, const Kernel& kernel) {
  cpu::for_each_site(range, [&](int block) {
    for (int slot = 0; slot < slots; ++slot) compute_in_parts<parts>(kernel, block, slot);
  });
}

template <class Kernel>
void for_each_site_in_ordered_sums(const SiteRange& range, int slots, const Kernel& kernel) {
  cpu::for_each_site(range, [&](int block) {
    for (int slot = 0; slot < slots; ++slot) compute_in_ordered_sums(kernel, block, slot);
  });
}

template <class Storage, class Kernel, class Lines>
void for_each_site_read_ahead(const SiteRange& range, int slots, const Kernel& kernel, const Lines& lines,
                              const WorkingSet& all, Columns = {}) {
  const auto compute = [&](int block) { detail::compute_slots(kernel, block, slots); };
  cpu::for_each_site_read_ahead(range, detail::traffic_of<Storage>(lines, slots, all),
                                detail::trials_of<Kernel, cpu::ways_ahead>(), detail::bringing(lines),
                                cpu::in_every_way(compute));
}

template <class Storage, class Make, class Lines>
void for_each_site_ask_ahead(const SiteRange& range, int slots, const Make& make, const Lines& lines,
                             const WorkingSet& all) {
  using Kernel = std::invoke_result_t<const Make&, int>;
  const auto compute = [&](const Kernel& kernel, int block)
                           TRELLIS_INLINE_LAMBDA { detail::compute_slots(kernel, block, slots); };
  cpu::for_each_site_read_ahead(range, detail::traffic_of<Storage>(lines, slots, all),
                                detail::trials_of<Kernel, cpu::ways_ahead_along>(), detail::bringing(lines),
                                cpu::asking_along(lines.blocks_ahead, make, compute));
}

/// Adds to sums[k] the sum of term k of terms(kernel, block), likewise.
template <size_t N, class Storage, class Make, class Lines, class Terms>
void reduce_sites_ask_ahead(const SiteRange& range, int slots, const Make& make, const Lines& lines,
                            const WorkingSet& all, const Terms& terms, ExactSum* sums) {
  using Kernel = std::invoke_result_t<const Make&, int>;
  cpu::reduce_sites_read_ahead<N>(range, detail::traffic_of<Storage>(lines, slots, all),
                                  detail::trials_of<Kernel, cpu::ways_ahead_along>(), detail::bringing(lines),
                                  cpu::asking_along(lines.blocks_ahead, make, terms), sums);
}

template <class Layout, class Storage, class Call, class Make>
void for_each_site_of_links(const Call& call, const SiteRange& range, const Make& make) {
  cpu::for_each_site_of_links<Layout, Storage>(call, range, make);
}

template <class Layout, class Storage, class Call, class Make>
void for_each_link_update(const Call& call, int mu, const SiteRange& range, const Make& make) {
  cpu::for_each_link_update<Layout, Storage>(call, mu, range, make);
}

/// Calls f(index, part) with a part of the scratch memory that is its thread's own.
template <class F>
void for_each_in_scratch(int count, const F& f) {
  cpu::for_each_group(count, f);
}

template <size_t N, class Kernel>
void reduce_sites(const SiteRange& range, const Kernel& kernel, ExactSum* sums) {
  cpu::reduce_sites<N>(
      range, [&](int block) { return kernel(block); }, sums);
}

template <size_t N, class Layout, class Storage, class Call, class Kernel>
void reduce_sites_of_links(const Call& call, Reach reach, const SiteRange& range, const Kernel& kernel,
                           ExactSum* sums) {
  cpu::reduce_sites_of_links<N, Layout, Storage>(call, reach, range, kernel, sums);
}

/// Adds to sums[row] the sum of what f(begin, end, buffers) pushes into buffers[row]; f gets the range in
/// pieces.
template <class F>
void reduce_pushed_rows(const SiteRange& range, int rows, const F& f, ExactSum* sums) {
  cpu::reduce_rows(range, rows, f, sums);
}

/// Adds to sums[N * index + k] the sum of what f(index, buffers) pushes into buffers[k], for every index.
template <size_t N, class F>
void reduce_each(int count, const F& f, ExactSum* sums) {
  cpu::for_each_site(SiteRange(count), [&](int index) {
    cpu::TermBuffer buffers[N];
    f(index, buffers);
    for (size_t k = 0; k < N; ++k) sums[N * size_t(index) + k].merge(buffers[k].take());
  });
}

template <class Kernel>
double maximum_over_sites(const SiteRange& range, const Kernel& kernel) {
  return cpu::maximum_over_sites(range, [&](int block) { return kernel(block); });
}

/// Only GPUs have these: launches choose by is_on_gpu.
template <class... Arguments>
void reduce_written_rows(Arguments&&...) = delete;

}  // namespace on_cpu
}  // namespace trellis::launch
