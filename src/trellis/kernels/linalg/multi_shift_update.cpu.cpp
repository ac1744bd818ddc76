// instantiate: STORAGE=double,float LANES=1,4,8,16
#include "trellis/kernels/linalg/multi_shift_update.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int N, int T>
void run(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  cpu::for_each_site(sites, [&](int block) {
    for (int slot = 0; slot < call.slots; ++slot)
      MultiShiftUpdate<Layout, Storage, N, T>::update(call, block, slot);
  });
}

template <class Layout, class Storage, int N>
void run_count(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  switch (call.count) {
    case 1:
      return run<Layout, Storage, N, 1>(call, sites);
    case 2:
      return run<Layout, Storage, N, 2>(call, sites);
    case 3:
      return run<Layout, Storage, N, 3>(call, sites);
    case 4:
      return run<Layout, Storage, N, 4>(call, sites);
    default:
      throw BadArgument(message("multi-shift update of ", call.count, " iterations: 1 to 4"));
  }
}
}  // namespace

template <class Layout, class Storage>
void launch_multi_shift_update(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  if (call.reals == 6) return run_count<Layout, Storage, 6>(call, sites);
  if (call.reals == 24) return run_count<Layout, Storage, 24>(call, sites);
  throw BadArgument(message("multi-shift update of ", call.reals, " reals: 6 or 24"));
}

template void launch_multi_shift_update<InstantiatedLayout, InstantiatedStorage>(const MultiShiftUpdateCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
