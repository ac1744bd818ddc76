#include "trellis/field/columns.hpp"

#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/device/gpu.hpp"

namespace trellis {

namespace {
/// Copies slots, which lie together in each block (in the GPU layout: in each group of sites).
void copy_slots(char* to, int to_slots, int to_first, const char* from, int from_slots, int from_first,
                int count, size_t slot_bytes, int groups, Backend backend) {
  to += size_t(to_first) * slot_bytes;
  from += size_t(from_first) * slot_bytes;
  const size_t to_pitch = size_t(to_slots) * slot_bytes, from_pitch = size_t(from_slots) * slot_bytes;
  const size_t width = size_t(count) * slot_bytes;
  if (width == 0) return;
  if (backend == Backend::cuda)
    return cuda::copy_rows_on_device(to, to_pitch, from, from_pitch, width, size_t(groups));
  for (size_t group = 0; group < size_t(groups); ++group)
    std::memcpy(to + group * to_pitch, from + group * from_pitch, width);
}
}  // namespace

void copy_columns(SpinorField& out, int out_first, const SpinorField& in, int in_first, int count) {
  FieldSpec alike = in.spec();
  alike.rhs = out.rhs();
  TRELLIS_REQUIRE(out.layout_ptr() == in.layout_ptr() && out.spec() == alike,
                  "copy_columns: fields differ in more than their number of right-hand sides");
  TRELLIS_REQUIRE(count >= 0 && in_first >= 0 && in_first + count <= in.rhs() && out_first >= 0 &&
                      out_first + count <= out.rhs(),
                  "copy_columns: right-hand sides ", in_first, " to ", in_first + count - 1, " of ", in.rhs(),
                  ", to ", out_first, " and on of ", out.rhs());
  const Backend backend = in.spec().backend;
  const bool is_cpu = backend == Backend::cpu;
  const int sites = is_cpu ? in.layout().lanes() : GpuLayout::warp;  // so many form a group
  const int slices = in.slices();
  const int groups = is_cpu ? in.layout().blocks() : (in.layout().blocks() + sites - 1) / sites;
  for (int parity = first_parity(in.subset()); parity <= last_parity(in.subset()); ++parity) {
    const RawField to = out.raw(parity), from = in.raw(parity);
    copy_slots(static_cast<char*>(to.data), to.slots, out_first * slices, static_cast<const char*>(from.data),
               from.slots, in_first * slices, count * slices,
               size_t(sites) * size_t(in.storage().stored_reals()) * element_bytes(in.precision()), groups,
               backend);
    if (to.scale)
      copy_slots(reinterpret_cast<char*>(to.scale), to.slots, out_first * slices,
                 reinterpret_cast<const char*>(from.scale), from.slots, in_first * slices, count * slices,
                 size_t(sites) * sizeof(float), groups, backend);
  }
}

}  // namespace trellis
