#pragma once
/// Tests take the sums that operators form beside their results from here.
#include "trellis/field/linear_operator.hpp"

namespace trellis::test {

/// Sets out = A in or A^dagger in, and returns |out|^2 as A sums it.
inline Coefficients apply_with_norm2(const LinearOperator& A, SpinorField& out, const SpinorField& in,
                                     bool is_dagger = false) {
  ColumnSums sums{.wants_norm2 = true};
  is_dagger ? A.apply_dagger(out, in, sums) : A.apply(out, in, sums);
  return sums.norm2;
}

/// Sets out = A in, and returns Re <in, out> as A sums it.
inline Coefficients apply_with_real_dot(const LinearOperator& A, SpinorField& out, const SpinorField& in) {
  ColumnSums sums{.wants_real_dot = true};
  A.apply(out, in, sums);
  return sums.real_dot;
}

}  // namespace trellis::test
