// instantiate: BACKEND=cpu STORAGE=double,float LANES=1
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/coarse_box.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"
#ifndef TRELLIS_INSTANTIATE_BACKEND_cuda
#include "trellis/kernels/multigrid/coarse_box_by_columns.hpp"
#endif

namespace trellis {

template <class Layout, class Storage>
void launch_coarse_boxes(const CoarseBoxCall& call, const SiteRange& boxes) {
  if constexpr (std::is_base_of_v<GpuLayout, Layout>)
    launch::for_each_site(boxes, call.rows() * call.rhs, CoarseBoxOfRows<Layout, Storage>(call));
  else
    launch::for_each_site(boxes, CoarseBoxByColumns<Layout, Storage>(call));
}

template void launch_coarse_boxes<InstantiatedLayout, InstantiatedStorage>(const CoarseBoxCall&,
                                                                           const SiteRange&);

}  // namespace trellis
