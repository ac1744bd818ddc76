#pragma once
/// This is the one way to run a kernel, on any backend. A launch file x.launch.cpp is compiled once for each
/// of its backends (kernels/instantiate.hpp), and gets from here the implementation of the one it is compiled
/// for:
///
/// - for_each_site(range, kernel) calls kernel(site)
/// - for_each_site(range, slots, kernel) calls kernel(site, slot) for every slot
/// - for_each_site_in_parts<parts>(range, slots, kernel) calls kernel.part(site, slot, p, result) for all
///   parts, which GPUs give to threads of one block, with Kernel::slots_of_block slots, then
///   kernel.finish(site, slot, of) with of(p) the results
/// - for_each_site_in_ordered_sums(range, slots, kernel) calls kernel.term(site, slot, t, term) for all
///   t < kernel.terms(), which GPUs give to threads of one block, and for each of Kernel::sums sums
///   kernel.add(sum, term, which) in the order of terms, then kernel.finish(site, slot, which, sum)
/// - for_each_site_read_ahead<Storage>(.., kernel, lines, ..) does likewise, where CPUs may bring
///   nearer before what `lines` names: lines.reads(site, f) and lines.writes(site, f) call f(data, bytes)
/// - for_each_site_ask_ahead<Storage>(.., make, lines, ..) does likewise, and the kernel can ask for itself
/// - for_each_site_of_links<Layout, Storage>(.., make) calls kernel(site), which reads links all around
/// - for_each_link_update<Layout, Storage>(.., make) does likewise, and it updates links
/// - reduce_sites<N>(range, kernel, sums) takes N terms of exact sums from kernel(site)
/// - reduce_sites_of_links<N, Layout, Storage>(..) does likewise, and it reads links all around
/// - maximum_over_sites(range, kernel) takes a number that is not negative from kernel(site)
///
/// make(blocks_ahead) gives a kernel whose links ask for those of so many blocks further on, or with 0 for
/// none (RawField::blocks_ahead). CPUs choose by a trial, GPUs take make(0).
///
/// Where the algorithms differ (is_on_gpu), CPUs have also reduce_sites_ask_ahead(), reduce_pushed_rows(),
/// reduce_each() and for_each_in_scratch(), and GPUs reduce_written_rows() and, with kernel(site, slot),
/// reduce_sites<N>(range, slots, kernel, sums), which takes the sums of all slots in one launch.
///
/// A site is a block of sites on CPUs, and the list of a range lies where the kernel runs. To a GPU a kernel
/// travels as its bytes: it is trivially copyable and holds no pointer to memory of the host.
///
/// Launches go to the stream of this thread (device/gpu.hpp), and so do the terms of sums.
#include <type_traits>

#include "trellis/device/launch_hints.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/view/layout.hpp"

namespace trellis::launch {

/// This is true where a kernel's layout is that of a real GPU. Launches ask where the two need different
/// algorithms.
template <class Layout>
inline constexpr bool is_on_gpu = std::is_same_v<Layout, CudaLayout>;

}  // namespace trellis::launch

#if defined(TRELLIS_INSTANTIATE_BACKEND_cuda)
#include "trellis/device/cuda/launch.cuh"
#else
#include "trellis/device/cpu/launch.hpp"
#endif
