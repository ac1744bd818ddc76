// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/restrict.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// f with the storage of P: that of the fields, or 16-bit fixed point beside fields in single precision.
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
    using Kernel = Restrict<Layout, Storage, ColumnStorage>;
    launch::for_each_site(groups, Kernel::slots(call.vectors), Kernel(call));
  });
}
template <class Layout, class Storage>
void launch_prolong(const ProlongCall& call, const SiteRange& blocks) {
  with_columns<Storage>(call.has_half, [&]<class ColumnStorage>() {
    launch::for_each_site(blocks, call.rhs, Prolong<Layout, Storage, ColumnStorage>(call));
  });
}

template void launch_restrict<InstantiatedLayout, InstantiatedStorage>(const RestrictCall&, const SiteRange&);
template void launch_prolong<InstantiatedLayout, InstantiatedStorage>(const ProlongCall&, const SiteRange&);

}  // namespace trellis
