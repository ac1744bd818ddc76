#pragma once
/// Products and updates of many fields are done in one pass, with one global sum: they are the parts of
/// classical Gram-Schmidt. A field may have as many right-hand sides as w, or a single one, which meets all
/// columns of w.
#include <vector>

#include "trellis/field/linear_algebra.hpp"

namespace trellis {

using FieldList = std::vector<const SpinorField*>;
/// There is one number for each field and right-hand side of w, [field][rhs].
using FieldCoefficients = std::vector<ComplexCoefficients>;

/// Returns conj(x_j) . w. Each field is read once, and w about once for sixteen of them.
FieldCoefficients dots_each(const FieldList& fields, const SpinorField& w);

/// Subtracts: w -= sum_j c_j x_j, one term after the other. Each field is read once, w is read and written
/// once for sixteen of them, and rounded to its storage then.
void subtract_each(SpinorField& w, const FieldCoefficients& c, const FieldList& fields);
/// Does the same and returns |w|^2 of that pass. @pre there are fields
Coefficients subtract_each_norm2(SpinorField& w, const FieldCoefficients& c, const FieldList& fields);

/// Returns the launches of one such pass for each parity, over `count` fields like `field`.
int launches_of(const SpinorField& field, const SpinorField& w, size_t count);

/// Returns the first `count` fields of a list.
FieldList first_of(const std::vector<SpinorField>& fields, size_t count);

}  // namespace trellis
