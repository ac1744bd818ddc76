/// Fields are copied here from one storage to another, and one parity of them.
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/field/host_conversion.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/linalg/convert.hpp"

namespace trellis {

namespace {
FieldSpec on_emulated_gpu(FieldSpec spec) {
  spec.backend = Backend::gpu_emulated;
  return spec;
}

/// Converts on a GPU. All fields there have their sites in the same order.
void convert_on_gpu([[maybe_unused]] SpinorField& out, [[maybe_unused]] const SpinorField& in) {
#ifdef TRELLIS_WITH_CUDA
  for (int parity = first_parity(out.subset()); parity <= last_parity(out.subset()); ++parity) {
    const ConvertCall call{out.raw(parity), in.raw(parity), in.precision(), out.reals(), out.slots()};
    dispatch(out.spec().backend, out.precision(), 1, [&]<class Layout, class Storage>() {
      if constexpr (std::is_same_v<Layout, CudaLayout>)
        launch_convert<Layout, Storage>(call, SiteRange(out.layout().blocks(parity)));
    });
  }
#endif
}
}  // namespace

void convert(SpinorField& out, const SpinorField& in) {
  TRELLIS_REQUIRE(out.lattice_ptr() == in.lattice_ptr() && out.subset() == in.subset() &&
                      out.rhs() == in.rhs() && out.slices() == in.slices() && out.reals() == in.reals(),
                  "convert: fields differ in lattice, subset or number of right-hand sides");
  const bool is_to_gpu = out.spec().backend == Backend::cuda,
             is_from_gpu = in.spec().backend == Backend::cuda;
  if (is_to_gpu && is_from_gpu) return convert_on_gpu(out, in);
  if (is_from_gpu) return convert_on_host(out, in.host_copy());
  if (is_to_gpu) {
    SpinorField host(out.lattice_ptr(), on_emulated_gpu(out.spec()));
    convert_on_host(host, in);
    return out.copy_from_host(host);
  }
  convert_on_host(out, in);
}

namespace {
void copy_parity(SpinorField& out, const SpinorField& in, int parity) {
  TRELLIS_REQUIRE(out.layout_ptr() == in.layout_ptr() && out.precision() == in.precision() &&
                      out.slots() == in.slots() && out.slices() == in.slices() && out.reals() == in.reals() &&
                      out.spec().backend == in.spec().backend,
                  "parity copy: fields differ in more than their subset");
  const SpinorField& half = out.subset() == Subset::full ? in : out;
  if (out.spec().backend == Backend::cuda)
    cuda::copy_on_device(out.raw(parity).data, in.raw(parity).data, half.bytes());
  else
    std::memcpy(out.raw(parity).data, in.raw(parity).data, half.bytes());
}
}  // namespace

void extract_parity(SpinorField& out, const SpinorField& in) {
  TRELLIS_REQUIRE(out.subset() != Subset::full && in.subset() == Subset::full,
                  "extract_parity: full to one parity");
  copy_parity(out, in, first_parity(out.subset()));
}

void insert_parity(SpinorField& out, const SpinorField& in) {
  TRELLIS_REQUIRE(in.subset() != Subset::full && out.subset() == Subset::full,
                  "insert_parity: one parity to full");
  copy_parity(out, in, first_parity(in.subset()));
}

}  // namespace trellis
