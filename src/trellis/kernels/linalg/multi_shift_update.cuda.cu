// instantiate: STORAGE=double,float
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/multi_shift_update.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int N, int T>
void run(const MultiShiftUpdateCall& call, int time, const SiteRange& sites) {
  using Kernel = MultiShiftAtSite<Layout, Storage, N, T>;
  for (int slot = 0; slot < call.slots; ++slot)
    for (int first = 0; first < call.shifts; first += Kernel::largest_batch)
      cuda::for_each_site(sites, 1, Kernel(call, first, time, slot));
}

/// Two iterations at a time: more do not fit the registers. The arithmetic of each is the same.
template <class Layout, class Storage, int N>
void run_all(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  int time = 0;
  for (; time + 1 < call.count; time += 2) run<Layout, Storage, N, 2>(call, time, sites);
  if (time < call.count) run<Layout, Storage, N, 1>(call, time, sites);
}
}  // namespace

template <class Layout, class Storage>
void launch_multi_shift_update(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  if (call.reals == 6) return run_all<Layout, Storage, 6>(call, sites);
  if (call.reals == 24) return run_all<Layout, Storage, 24>(call, sites);
  throw BadArgument(message("multi-shift update of ", call.reals, " reals: 6 or 24"));
}

template void launch_multi_shift_update<InstantiatedLayout, InstantiatedStorage>(const MultiShiftUpdateCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
