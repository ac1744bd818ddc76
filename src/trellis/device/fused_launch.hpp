#pragma once
/// in_one_launch<Storage>(fused hop, working set, columns) packs faces, computes a hop and waits for the
/// faces of other ranks in one launch, in the fastest shape, on GPUs alone (view/halo_flags.hpp). The sites
/// of `pack` are those of all faces, of which each begins with a block of threads. The hop has
/// compute<S>(site, slot), most_columns and ghost_legs(site): a bit for each leg whose ghost it reads.
#include "trellis/device/launch.hpp"
#if defined(__CUDACC__)
#include "trellis/device/cuda/fused_launch.cuh"
#else
#include "trellis/device/simulated/fused_launch.hpp"
#endif

namespace trellis::launch {
inline namespace on_gpu {

namespace detail {
template <int S = 6, class Fused>
void launch_fused_in_shape(const Fused& fused, const LaunchShape& shape) {
  if constexpr (S > 1)
    if (S > shape.columns || S > fused.slots || S > Fused::Hop::most_columns)
      return launch_fused_in_shape<(S == 6 ? 4 : S - 1)>(fused, shape);
  if constexpr (S <= Fused::Hop::most_columns) cuda::launch_fused<S>(fused, shape.threads);
}
}  // namespace detail

template <class Storage, class Pack, class Hop>
void in_one_launch(const FusedHop<Pack, Hop>& fused, const WorkingSet& all, Columns columns) {
  using Fused = FusedHop<Pack, Hop>;
  if (columns.per_thread > 0)
    return detail::launch_fused_in_shape(fused, {columns.per_thread, cuda::threads_per_block});
  const LaunchSubject subject{all.bytes, all.geometry, fused.slots, storage_name<Storage>()};
  const int ways = launch_shapes_up_to(std::min(fused.slots, Hop::most_columns));
  const int sites = fused.inner_sites + fused.border_sites;
  trials_on_gpu<Fused>(ways).launch_in_queue(subject, sites, [&](int way, bool is_timed) {
    if (is_timed) cuda::start_launch_timer();
    detail::launch_fused_in_shape(fused, launch_shapes[way]);
    return is_timed ? cuda::stop_launch_timer() : 0.0;
  });
}

}  // namespace on_gpu
}  // namespace trellis::launch
