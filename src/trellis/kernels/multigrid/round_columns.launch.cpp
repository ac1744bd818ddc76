// instantiate: BACKEND=cpu STORAGE=float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=float
#include "trellis/kernels/multigrid/round_columns.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout>
void launch_round_columns(const RoundColumnsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, call.in.slots, RoundColumns<Layout>(call));
}

template void launch_round_columns<InstantiatedLayout>(const RoundColumnsCall&, const SiteRange&);

}  // namespace trellis
