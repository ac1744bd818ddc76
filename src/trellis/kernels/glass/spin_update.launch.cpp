// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/glass/spin_update.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// On a CPU a block's slots share what is read of its couplings; a GPU has a thread for each slot.
template <class Layout, class Kernel>
void launch_slots(const SiteRange& range, int slots, const Kernel& kernel) {
  if constexpr (launch::is_on_gpu<Layout>)
    launch::for_each_site(range, slots, kernel);
  else
    launch::for_each_site(range, kernel);
}

template <template <class> class Kernel, class Layout, class Storage, class Call>
void launch_update(const Call& call, const SpinCall& spins, bool has_ghosts, const SiteRange& range) {
  const bool has_signs = spins.signs != nullptr;
  const auto run = [&]<class Around>() { launch_slots<Layout>(range, spins.slots, Kernel<Around>(call)); };
  if (has_signs && has_ghosts)
    run.template operator()<SpinNeighbourhood<Layout, Storage, true, true>>();
  else if (has_signs)
    run.template operator()<SpinNeighbourhood<Layout, Storage, true, false>>();
  else if (has_ghosts)
    run.template operator()<SpinNeighbourhood<Layout, Storage, false, true>>();
  else
    run.template operator()<SpinNeighbourhood<Layout, Storage, false, false>>();
}
}  // namespace

template <class Layout, class Storage>
void launch_over_relaxation(const SpinCall& call, bool has_ghosts, const SiteRange& blocks_of_one_parity) {
  launch_update<OverRelaxation, Layout, Storage>(call, call, has_ghosts, blocks_of_one_parity);
}
template <class Layout, class Storage>
void launch_spin_heat_bath(const SpinHeatBathCall& call, bool has_ghosts,
                           const SiteRange& blocks_of_one_parity) {
  launch_update<SpinHeatBath, Layout, Storage>(call, call.spins, has_ghosts, blocks_of_one_parity);
}

template void launch_over_relaxation<InstantiatedLayout, InstantiatedStorage>(const SpinCall&, bool,
                                                                              const SiteRange&);
template void launch_spin_heat_bath<InstantiatedLayout, InstantiatedStorage>(const SpinHeatBathCall&, bool,
                                                                             const SiteRange&);

}  // namespace trellis
