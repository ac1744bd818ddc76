#include "trellis/solver/batches.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/columns.hpp"

namespace trellis {

int columns_per_batch(const LinearOperator& A) {
  constexpr double nominal_cache = 2.5e6, far_out = 100e6;
  constexpr int recursion_fields = 7;  // CG on the normal equations has these, the operator's own two among
                                       // them
  constexpr int batch_in_memory = 4;
  const SpinorField field = A.make_field(1);
  const double fields = recursion_fields * double(field.sites()) * field.slots() * field.reals() *
                        double(element_bytes(field.precision()));
  const double links = (2 * A.cost(1).bytes - A.cost(2).bytes) / 2;  // an application reads each link twice
  if (links + fields > far_out) return batch_in_memory;
  return std::max(1, int((nominal_cache - links) / fields));
}

SolveReport solve_in_batches(int size, SpinorField& x, const SpinorField& b,
                             const std::function<SolveReport(SpinorField&, const SpinorField&)>& solve) {
  TRELLIS_REQUIRE(size >= 1, "a batch has at least one right-hand side, not ", size);
  if (b.rhs() <= size || !launches_can_be_cut(b.spec().backend) || x.rhs() != b.rhs()) return solve(x, b);
  const int batches = (b.rhs() + size - 1) / size;
  SolveReport all;
  for (int batch = 0; batch < batches; ++batch) {
    const int first = batch * b.rhs() / batches, count = (batch + 1) * b.rhs() / batches - first;
    FieldSpec spec = b.spec();
    spec.rhs = count;
    SpinorField part_x(b.lattice_ptr(), spec), part_b(b.lattice_ptr(), spec);
    copy_columns(part_b, 0, b, first, count);
    copy_columns(part_x, 0, x, first, count);
    const SolveReport one = solve(part_x, part_b);
    copy_columns(x, first, part_x, 0, count);
    if (batch == 0)
      all = one;
    else
      all.add_columns(one);
  }
  return all;
}

}  // namespace trellis
