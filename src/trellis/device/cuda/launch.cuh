#pragma once
/// Launches on GPUs, real and simulated (device/launch.hpp).
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
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

template <class Kernel>
void for_each_site(const SiteRange& range, int slots, const Kernel& kernel, Columns columns) {
  TRELLIS_REQUIRE(columns.per_thread >= 1, "a thread takes ", columns.per_thread,
                  " right-hand sides; expected at least 1");
  if (columns.per_thread == 1) return cuda::for_each_site(range, slots, kernel);
  cuda::for_each_site_in_groups(range, ColumnGroups{slots, columns.per_thread}, kernel);
}

template <class Storage, class Kernel>
void for_each_site_read_ahead(const SiteRange& range, int slots, Kernel& kernel, const WorkingSet&) {
  for_each_site(range, slots, kernel);
}
template <class Storage, class Kernel>
void for_each_site_read_ahead(const SiteRange& range, int slots, Kernel& kernel, const WorkingSet&,
                              Columns columns) {
  for_each_site(range, slots, kernel, columns);
}

template <class Layout, class Storage, class Call, class Kernel>
void for_each_site_of_links(const Call&, const SiteRange& range, const Kernel& kernel) {
  for_each_site(range, kernel);
}

template <class Layout, class Storage, class Call, class Kernel>
void for_each_link_update(const Call&, int, const SiteRange& range, const Kernel& kernel) {
  for_each_site(range, kernel);
}

template <size_t N, class Kernel>
void reduce_sites(const SiteRange& range, const Kernel& kernel, ExactSum* sums) {
  cuda::reduce_sites<int(N)>(range, kernel, sums);
}

template <size_t N, class Layout, class Storage, class Call, class Kernel>
void reduce_sites_of_links(const Call&, Reach, const SiteRange& range, const Kernel& kernel, ExactSum* sums) {
  reduce_sites<N>(range, kernel, sums);
}

template <class Kernel>
double maximum_over_sites(const SiteRange& range, const Kernel& kernel) {
  return cuda::maximum_over_sites(range, kernel);
}

/// sums[row] += the sum of row `row` of the terms that make(terms, stride)(site, slot) writes, rows being
/// `stride` terms apart. The range begins at 0 and lists nothing.
template <class Make>
void reduce_written_rows(const SiteRange& range, int slots, int rows, const Make& make, ExactSum* sums) {
  const size_t stride = size_t(range.size());
  double* terms = cuda::term_buffer(size_t(rows) * stride);
  cuda::for_each_site(range, slots, make(terms, stride));
  cuda::reduce_rows(terms, range.size(), stride, rows, sums);
}

/// Only CPUs have these: launches choose by is_on_gpu.
template <size_t N, class Storage, class... Arguments>
void reduce_sites_read_ahead(Arguments&&...) = delete;
template <class... Arguments>
void for_each_in_scratch(Arguments&&...) = delete;
template <class... Arguments>
void reduce_pushed_rows(Arguments&&...) = delete;
template <size_t N, class... Arguments>
void reduce_each(Arguments&&...) = delete;

}  // namespace on_gpu
}  // namespace trellis::launch
