// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/restrict.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/multigrid/columns_of_thread.hpp"

namespace trellis {

namespace {
/// Calls f with the storage of P: that of the fields, or 16-bit fixed point beside fields in single
/// precision.
template <class Storage, class F>
void with_columns(bool has_half, const F& f) {
  if constexpr (std::is_same_v<Storage, float>)
    if (has_half) return f.template operator()<Half>();
  f.template operator()<Storage>();
}
}  // namespace

template <class Layout, class Storage>
void launch_restrict(const RestrictCall& call, const SiteRange& groups) {
  with_columns<Storage>(call.has_half, [&]<class ColumnStorage>() {
    if constexpr (std::is_base_of_v<GpuLayout, Layout>) {
      const auto run = [&]<int columns>() {
        using Kernel = RestrictOfColumns<Layout, Storage, ColumnStorage, columns>;
        launch::for_each_site_in_ordered_sums(groups, Kernel::slots(call.vectors, call.rhs), Kernel(call));
      };
      call.rhs == 1 ? run.template operator()<1>() : run.template operator()<columns_of_thread<Storage>>();
    } else {
      launch::for_each_site(groups, Restrict<Layout, Storage, ColumnStorage>(call));
    }
  });
}
template <class Layout, class Storage>
void launch_prolong(const ProlongCall& call, const SiteRange& blocks) {
  with_columns<Storage>(call.has_half, [&]<class ColumnStorage>() {
    const auto run = [&]<int columns>() {
      using Kernel = Prolong<Layout, Storage, ColumnStorage, columns>;
      launch::for_each_site(blocks, Kernel::slots(call.rhs), Kernel(call));
    };
    if constexpr (std::is_base_of_v<GpuLayout, Layout>)
      if (call.rhs > 1) return run.template operator()<columns_of_thread<Storage>>();
    run.template operator()<1>();
  });
}

template void launch_restrict<InstantiatedLayout, InstantiatedStorage>(const RestrictCall&, const SiteRange&);
template void launch_prolong<InstantiatedLayout, InstantiatedStorage>(const ProlongCall&, const SiteRange&);

}  // namespace trellis
