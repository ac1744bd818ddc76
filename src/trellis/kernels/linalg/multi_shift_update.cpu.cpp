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
}  // namespace

template <class Layout, class Storage>
void launch_multi_shift_update(const MultiShiftUpdateCall& call, const SiteRange& sites) {
  if (call.reals == 6 && call.count == 1) return run<Layout, Storage, 6, 1>(call, sites);
  if (call.reals == 6 && call.count == 2) return run<Layout, Storage, 6, 2>(call, sites);
  if (call.reals == 24 && call.count == 1) return run<Layout, Storage, 24, 1>(call, sites);
  if (call.reals == 24 && call.count == 2) return run<Layout, Storage, 24, 2>(call, sites);
  throw BadArgument(message("multi-shift update of ", call.reals, " reals and ", call.count,
                            " iterations: 6 or 24 reals, 1 or 2 iterations"));
}

template void launch_multi_shift_update<InstantiatedLayout, InstantiatedStorage>(const MultiShiftUpdateCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
