#pragma once
/// These functions take some of the right-hand sides of a fermion field.
#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// Copies `count` right-hand sides of `in`, from in_first on, to those of `out` from out_first on.
/// @pre the fields are alike but for their number of right-hand sides
void copy_columns(SpinorField& out, int out_first, const SpinorField& in, int in_first, int count);

}  // namespace trellis
