/// Copies from one storage to another, and of one parity.
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/field/host_conversion.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

void convert(SpinorField& out, const SpinorField& in) {
  TRELLIS_REQUIRE(out.lattice_ptr() == in.lattice_ptr() && out.subset() == in.subset() &&
                      out.rhs() == in.rhs() && out.slices() == in.slices() && out.reals() == in.reals(),
                  "convert: fields differ in lattice, subset or number of right-hand sides");
  if (in.spec().backend == Backend::cuda) return convert(out, in.host_copy());
  if (out.spec().backend == Backend::cuda) {
    SpinorField host = out.host_copy();
    convert(host, in);
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
