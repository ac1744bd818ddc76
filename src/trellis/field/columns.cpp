#include "trellis/field/columns.hpp"

#include <cstring>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Slots lie together in each block (in the GPU layout: in each group of sites).
void copy_slots(char* to, int to_slots, int to_first, const char* from, int from_slots, int from_first,
                int count, size_t slot_bytes, int groups) {
  for (int group = 0; group < groups; ++group)
    std::memcpy(to + (size_t(group) * size_t(to_slots) + size_t(to_first)) * slot_bytes,
                from + (size_t(group) * size_t(from_slots) + size_t(from_first)) * slot_bytes,
                size_t(count) * slot_bytes);
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
  if (in.spec().backend == Backend::cuda) throw NotAvailable("copy_columns is for fields on the host");
  const bool is_cpu = in.spec().backend == Backend::cpu;
  const int sites = is_cpu ? in.layout().lanes() : GpuLayout::warp;  // of a group
  const int slices = in.slices();
  const int groups = is_cpu ? in.layout().blocks() : (in.layout().blocks() + sites - 1) / sites;
  for (int parity = first_parity(in.subset()); parity <= last_parity(in.subset()); ++parity) {
    const RawField to = out.raw(parity), from = in.raw(parity);
    copy_slots(static_cast<char*>(to.data), to.slots, out_first * slices, static_cast<const char*>(from.data),
               from.slots, in_first * slices, count * slices,
               size_t(sites) * size_t(in.reals()) * element_bytes(in.precision()), groups);
    if (to.scale)
      copy_slots(reinterpret_cast<char*>(to.scale), to.slots, out_first * slices,
                 reinterpret_cast<const char*>(from.scale), from.slots, in_first * slices, count * slices,
                 size_t(sites) * sizeof(float), groups);
  }
}

}  // namespace trellis
