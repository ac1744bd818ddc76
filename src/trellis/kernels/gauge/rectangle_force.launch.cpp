// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double,float
#include "trellis/kernels/gauge/rectangle_force.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// A slice is one thread's of a GPU, with scratch memory of its own.
template <class Layout, class Storage>
struct SliceOfThread {
  SliceForce<Layout, Storage> kernel;
  int places;  ///< of a slice, in the scratch memory
  TRELLIS_SITE_FN void operator()(int slice) const {
    SliceForce<Layout, Storage> own = kernel;
    own.first_place = slice * places;
    own(slice);
  }
};
}  // namespace

template <class Layout, class Storage>
void launch_slice_force(const SliceForceCall& call, int slices) {
  Storage* const scratch = static_cast<Storage*>(call.scratch);
  if constexpr (launch::is_on_gpu<Layout>) {
    const int places = int(call.scratch_reals / (slice_matrices * 18));
    const SliceForce<Layout, Storage> kernel(call, scratch);
    launch::for_each_site(SiteRange(slices), SliceOfThread<Layout, Storage>{kernel, places});
  } else {
    launch::for_each_in_scratch(slices, [&](int slice, int thread) {
      const SliceForce<Layout, Storage> kernel(call, scratch + size_t(thread) * call.scratch_reals);
      kernel(slice);
    });
  }
}

template void launch_slice_force<InstantiatedLayout, InstantiatedStorage>(const SliceForceCall&, int);

}  // namespace trellis
