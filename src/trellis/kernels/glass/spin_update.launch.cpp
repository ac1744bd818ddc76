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

/// Calls run.operator()<Neighbourhood>() with the one that a call needs.
template <class Layout, class Storage, bool has_one_slot, class Run>
void with_neighbourhood(const SpinCall& call, bool has_ghosts, const Run& run) {
  const bool has_signs = call.signs != nullptr;
  if (has_signs && has_ghosts)
    run.template operator()<SpinNeighbourhood<Layout, Storage, true, true, has_one_slot>>();
  else if (has_signs)
    run.template operator()<SpinNeighbourhood<Layout, Storage, true, false, has_one_slot>>();
  else if (has_ghosts)
    run.template operator()<SpinNeighbourhood<Layout, Storage, false, true, has_one_slot>>();
  else
    run.template operator()<SpinNeighbourhood<Layout, Storage, false, false, has_one_slot>>();
}
}  // namespace

template <class Layout, class Storage>
void launch_over_relaxation(const SpinCall& call, bool has_ghosts, const SiteRange& blocks_of_one_parity) {
  const auto run = [&]<class Around>() {
    launch_slots<Layout>(blocks_of_one_parity, call.slots, OverRelaxation<Around>(call));
  };
  if (call.slots == 1)
    with_neighbourhood<Layout, Storage, true>(call, has_ghosts, run);
  else
    with_neighbourhood<Layout, Storage, false>(call, has_ghosts, run);
}
template <class Layout, class Storage>
void launch_spin_heat_bath(const SpinHeatBathCall& call, bool has_ghosts,
                           const SiteRange& blocks_of_one_parity) {
  with_neighbourhood<Layout, Storage, false>(call.spins, has_ghosts, [&]<class Around>() {
    launch_slots<Layout>(blocks_of_one_parity, call.spins.slots, SpinHeatBath<Around>(call));
  });
}

template void launch_over_relaxation<InstantiatedLayout, InstantiatedStorage>(const SpinCall&, bool,
                                                                              const SiteRange&);
template void launch_spin_heat_bath<InstantiatedLayout, InstantiatedStorage>(const SpinHeatBathCall&, bool,
                                                                             const SiteRange&);

}  // namespace trellis
