#pragma once
/// These are the launches on GPUs, real and simulated (device/launch.hpp).
#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/device/cuda/fastest_way.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/device/gpu.hpp"
#include "trellis/device/launch_hints.hpp"

namespace trellis::launch {
inline namespace on_gpu {

template <class Kernel>
void for_each_site(const SiteRange& range, const Kernel& kernel) {
  cuda::for_each_site(range, 1, kernel);
}

template <class Kernel>
void for_each_site(const SiteRange& range, int slots, const Kernel& kernel) {
  cuda::for_each_site(range, slots, kernel);
}

template <int parts, class Kernel>
void for_each_site_in_parts(const SiteRange& range, int slots, const Kernel& kernel) {
  cuda::for_each_site_in_parts<parts>(range, slots, kernel);
}

template <class Kernel>
void for_each_site_in_ordered_sums(const SiteRange& range, int slots, const Kernel& kernel) {
  cuda::for_each_site_in_ordered_sums(range, slots, kernel);
}

namespace detail {
/// Launches threads of S right-hand sides, as many as fit in, and of one for what is left.
template <int S, class Kernel>
void launch_columns(const SiteRange& range, int slots, const Kernel& kernel, int threads) {
  cuda::for_each_site_of_columns<S>(range, 0, slots / S, kernel, threads);
  if constexpr (S > 1)
    cuda::for_each_site_of_columns<1>(range, slots - slots % S, slots % S, kernel, threads);
}

/// Launches in a shape. Threads take as many right-hand sides as the shape says, or fewer where the kernel
/// cannot.
template <int S = 6, class Kernel>
void launch_in_shape(const SiteRange& range, int slots, const Kernel& kernel, const LaunchShape& shape) {
  if constexpr (S > 1)
    if (S > shape.columns || S > slots || S > Kernel::most_columns)
      return launch_in_shape<(S == 6 ? 4 : S - 1)>(range, slots, kernel, shape);
  if constexpr (S <= Kernel::most_columns) launch_columns<S>(range, slots, kernel, shape.threads);
}
}  // namespace detail

/// Launches in the fastest of launch_shapes, or with so many right-hand sides a thread as `columns` says.
template <class Storage, class Kernel, class Lines>
void for_each_site_read_ahead(const SiteRange& range, int slots, const Kernel& kernel, const Lines&,
                              const WorkingSet& all, Columns columns = {}) {
  TRELLIS_REQUIRE(columns.per_thread >= 0, "a thread takes ", columns.per_thread,
                  " right-hand sides; expected at least 1, or 0: the tuner chooses");
  if (range.size() == 0) return;
  if (columns.per_thread > 0)
    return detail::launch_in_shape(range, slots, kernel, {columns.per_thread, cuda::threads_per_block});
  const LaunchSubject subject{all.bytes, all.geometry, slots, storage_name<Storage>()};
  const int ways = launch_shapes_up_to(std::min(slots, Kernel::most_columns));
  trials_on_gpu<Kernel>(ways).launch_in_queue(subject, range.size(), [&](int way, bool is_timed) {
    if (is_timed) cuda::start_launch_timer();
    detail::launch_in_shape(range, slots, kernel, launch_shapes[way]);
    return is_timed ? cuda::stop_launch_timer() : 0.0;
  });
}

template <class Storage, class Make, class Lines>
void for_each_site_ask_ahead(const SiteRange& range, int slots, const Make& make, const Lines& lines,
                             const WorkingSet& all) {
  for_each_site_read_ahead<Storage>(range, slots, make(0), lines, all);
}

template <class Layout, class Storage, class Call, class Make>
void for_each_site_of_links(const Call&, const SiteRange& range, const Make& make) {
  for_each_site(range, make(0));
}

template <class Layout, class Storage, class Call, class Make>
void for_each_link_update(const Call&, int, const SiteRange& range, const Make& make) {
  for_each_site(range, make(0));
}

template <size_t N, class Kernel>
void reduce_sites(const SiteRange& range, const Kernel& kernel, ExactSum* sums) {
  cuda::reduce_sites<int(N)>(range, 1, kernel, sums);
}

/// Adds to sums[N * slot + k] the sum of term k of kernel(site, slot), for all slots in one launch.
template <size_t N, class Kernel>
void reduce_sites(const SiteRange& range, int slots, const Kernel& kernel, ExactSum* sums) {
  cuda::reduce_sites<int(N)>(range, slots, kernel, sums);
}

template <size_t N, class Layout, class Storage, class Call, class Kernel>
void reduce_sites_of_links(const Call&, Reach, const SiteRange& range, const Kernel& kernel, ExactSum* sums) {
  reduce_sites<N>(range, kernel, sums);
}

template <class Kernel>
double maximum_over_sites(const SiteRange& range, const Kernel& kernel) {
  return cuda::maximum_over_sites(range, kernel);
}

/// Adds to sums[row] the sum of row `row` of the terms that make(terms, stride)(site, slot) writes, rows
/// being `stride` terms apart. The range begins at 0 and lists nothing.
template <class Make>
void reduce_written_rows(const SiteRange& range, int slots, int rows, const Make& make, ExactSum* sums) {
  const size_t stride = size_t(range.size());
  double* terms = cuda::term_buffer(size_t(rows) * stride);
  cuda::for_each_site(range, slots, make(terms, stride));
  cuda::reduce_rows(terms, range.size(), stride, rows, sums);
}

/// Only CPUs have these: launches choose by is_on_gpu.
template <size_t N, class Storage, class... Arguments>
void reduce_sites_ask_ahead(Arguments&&...) = delete;
template <class... Arguments>
void for_each_in_scratch(Arguments&&...) = delete;
template <class... Arguments>
void reduce_pushed_rows(Arguments&&...) = delete;
template <size_t N, class... Arguments>
void reduce_each(Arguments&&...) = delete;

}  // namespace on_gpu
}  // namespace trellis::launch
