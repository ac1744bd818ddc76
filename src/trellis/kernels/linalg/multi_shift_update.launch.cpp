// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/linalg/multi_shift_update.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/of_columns.hpp"

namespace trellis {

namespace {
/// It takes all shifts of all right-hand sides at a time: the coefficients are read where they are.
template <class Layout, class Storage, int N, int T>
void run_on_cpu(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  launch::for_each_site(sites, call.slots, [&](int block, int slot) {
    MultiShiftUpdate<Layout, Storage, N, T>::update(call, block, slot);
  });
}

template <class Layout, class Storage, int N, int T>
void run_on_gpu(const MultiShiftUpdateCall& call, int time, const SiteRange& sites) {
  using Kernel = MultiShiftAtSite<Layout, Storage, N, T>;
  for (int shift = 0; shift < call.shifts; shift += Kernel::largest_batch)
    for_each_launch_of_columns<Kernel>(
        call.slots, [&](int slot) { return Kernel(call, shift, time, slot); },
        [&](const auto& kernel, int, int count) { launch::for_each_site(sites, count, kernel); });
}

template <class Layout, class Storage, int N>
void run(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  if (call.count < 1 || call.count > MultiShiftUpdateCall::largest_count)
    throw BadArgument(message("multi-shift update of ", call.count, " iterations: 1 to 4"));
  if constexpr (launch::is_on_gpu<Layout>) {
    // Two iterations go at a time: more do not fit the registers. The arithmetic of each is the same.
    int time = 0;
    for (; time + 1 < call.count; time += 2) run_on_gpu<Layout, Storage, N, 2>(call, time, sites);
    if (time < call.count) run_on_gpu<Layout, Storage, N, 1>(call, time, sites);
  } else {
    if (call.count == 1) return run_on_cpu<Layout, Storage, N, 1>(call, sites);
    if (call.count == 2) return run_on_cpu<Layout, Storage, N, 2>(call, sites);
    if (call.count == 3) return run_on_cpu<Layout, Storage, N, 3>(call, sites);
    run_on_cpu<Layout, Storage, N, 4>(call, sites);
  }
}
}  // namespace

template <class Layout, class Storage>
void launch_multi_shift_update(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  if (call.reals == 6) return run<Layout, Storage, 6>(call, sites);
  if (call.reals == 24) return run<Layout, Storage, 24>(call, sites);
  throw BadArgument(message("multi-shift update of ", call.reals, " reals: 6 or 24"));
}

template void launch_multi_shift_update<InstantiatedLayout, InstantiatedStorage>(const MultiShiftUpdateCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
