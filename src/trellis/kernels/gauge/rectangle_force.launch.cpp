// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
#include "trellis/kernels/gauge/rectangle_force.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_slice_force(const SliceForceCall& call, int slices) {
  Storage* const scratch = static_cast<Storage*>(call.scratch);
  launch::for_each_in_scratch(slices, [&](int slice, int thread) {
    const SliceForce<Layout, Storage> kernel(call, scratch + size_t(thread) * call.scratch_reals);
    kernel(slice);
  });
}

template void launch_slice_force<InstantiatedLayout, InstantiatedStorage>(const SliceForceCall&, int);

}  // namespace trellis
