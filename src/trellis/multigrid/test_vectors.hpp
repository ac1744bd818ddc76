#pragma once
/// Test vectors of any level are the columns of one field.
#include "trellis/solver/krylov_method.hpp"

namespace trellis {

/// So often vectors of which no coarse operator can be made are replaced.
inline constexpr int most_replacements = 3;
/// A column keeps at least this of its |v|^2 beside the columns before it, in each aggregate.
inline constexpr double least_independent = 1e-9;

/// Makes a zero field with another number of columns.
SiteField with_columns(const SiteField& like, int columns);
/// Divides each column by its norm: v / |v|. @throws NumericError: one has vanished or is not finite
void normalise(SiteField& vectors);

/// Makes the columns orthonormal over the whole lattice, in their order, for fields so small that n^2
/// products do not matter. @throws NumericError: columns depend on each other
void orthonormalise_columns(SiteField& vectors);

/// It has |A v| / |v| over the columns. @param image a field like `vectors` to work in
struct VectorResiduals {
  double mean = 0, worst = 0;
};
VectorResiduals residuals_of(const LinearOperator& A, const SiteField& vectors, SiteField& image,
                             SolveCost& cost);

}  // namespace trellis
