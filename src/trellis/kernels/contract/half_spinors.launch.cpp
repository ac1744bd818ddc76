// instantiate: BACKEND=cuda
#include "trellis/kernels/contract/half_spinors.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout>
void launch_copy_half_spinors(const HalfSpinorsCall& call, const SiteRange& sites) {
  launch::for_each_site(sites, call.rhs, CopyHalfSpinors<Layout>(call));
}

template void launch_copy_half_spinors<InstantiatedLayout>(const HalfSpinorsCall&, const SiteRange&);

}  // namespace trellis
