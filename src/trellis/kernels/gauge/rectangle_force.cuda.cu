// instantiate: STORAGE=double,float
#include "trellis/kernels/gauge/rectangle_force.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// A slice is one thread's, with scratch memory of its own.
template <class Layout, class Storage>
struct Slice {
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
  const int places = int(call.scratch_reals / (slice_matrices * 18));
  const SliceForce<Layout, Storage> kernel(call, static_cast<Storage*>(call.scratch));
  cuda::for_each_site(SiteRange(slices), 1, Slice<Layout, Storage>{kernel, places});
}

template void launch_slice_force<InstantiatedLayout, InstantiatedStorage>(const SliceForceCall&, int);

}  // namespace trellis
