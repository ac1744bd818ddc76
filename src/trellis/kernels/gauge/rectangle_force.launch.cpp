// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double,float
#include "trellis/kernels/gauge/rectangle_force.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
enum class Part { staples, loops, update };

/// It does one part of all slices for a GPU, with a thread for each element: slices have scratch memory of
/// their own, and a launch begins when the one before has ended.
template <Part part, class Layout, class Storage>
struct PartOfSlices {
  SliceForce<Layout, Storage> kernel;
  int elements;  ///< a slice has so many
  int places;    ///< a slice has so many, in the scratch memory
  TRELLIS_SITE_FN void operator()(int index) const {
    const int slice = index / elements, i = index % elements;
    SliceForce<Layout, Storage> own = kernel;
    own.first_place = slice * places;
    if constexpr (part == Part::staples)
      own.staples_of(slice, i);
    else if constexpr (part == Part::loops)
      own.loops_of(slice, i);
    else
      own.update_of(slice, i);
  }
};

template <Part part, class Layout, class Storage>
void launch_part(const SliceForce<Layout, Storage>& kernel, int slices, int elements, int places) {
  launch::for_each_site(SiteRange(slices * elements),
                        PartOfSlices<part, Layout, Storage>{kernel, elements, places});
}
}  // namespace

template <class Layout, class Storage>
void launch_slice_force(const SliceForceCall& call, int slices) {
  Storage* const scratch = static_cast<Storage*>(call.scratch);
  if constexpr (launch::is_on_gpu<Layout>) {
    const int places = int(call.scratch_reals / (slice_matrices * 18));
    const SliceForce<Layout, Storage> kernel(call, scratch);
    launch_part<Part::staples>(kernel, slices, call.blocks_per_slice, places);
    launch_part<Part::loops>(kernel, slices, call.plaquette_count, places);
    launch_part<Part::update>(kernel, slices, call.inner_count, places);
  } else {
    launch::for_each_in_scratch(slices, [&](int slice, int thread) {
      const SliceForce<Layout, Storage> kernel(call, scratch + size_t(thread) * call.scratch_reals);
      kernel(slice);
    });
  }
}

template void launch_slice_force<InstantiatedLayout, InstantiatedStorage>(const SliceForceCall&, int);

}  // namespace trellis
