#include "trellis/multigrid/test_vectors.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/multigrid/dense.hpp"

namespace trellis {

SiteField with_columns(const SiteField& like, int columns) {
  FieldSpec spec = like.spec();
  spec.rhs = columns;
  return {like.lattice_ptr(), spec};
}

void normalise(SiteField& vectors) {
  Coefficients inverse;
  for (const double norm2 : norm2_each(vectors)) {
    if (!(norm2 > 0) || !std::isfinite(norm2))
      throw NumericError("the set-up of multigrid: a test vector has vanished or is not finite");
    inverse.push_back(1 / std::sqrt(norm2));
  }
  combine(vectors, inverse, vectors, Coefficients(inverse.size(), 0.0), vectors);
}

void orthonormalise_columns(SiteField& vectors) {
  const int n = vectors.rhs();
  std::vector<SiteField> columns;
  for (int i = 0; i < n; ++i) {
    columns.push_back(with_columns(vectors, 1));
    copy_columns(columns.back(), 0, vectors, i, 1);
  }
  const FieldList all = first_of(columns, columns.size());
  const FieldCoefficients products = dots_each(all, vectors);
  DenseMatrix gram(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) gram.at(i, j) = products[size_t(i)][size_t(j)];
  const TriangularFactor factor = inverse_of_cholesky_factor(gram);
  if (!(factor.least_pivot > 0))
    throw NumericError("the refresh of multigrid: its test vectors depend on each other");
  FieldCoefficients mixing(static_cast<size_t>(n), ComplexCoefficients(size_t(n), 0.0));
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) mixing[size_t(i)][size_t(j)] = -factor.inverse.at(i, j);
  set_zero(vectors);
  subtract_each(vectors, mixing, all);
}

VectorResiduals residuals_of(const LinearOperator& A, const SiteField& vectors, SiteField& image,
                             SolveCost& cost) {
  VectorResiduals found;
  A.apply(image, vectors);
  cost.add_applications(A, vectors.rhs(), 1);
  const Coefficients image2 = norm2_each(image), norm2 = norm2_each(vectors);
  for (size_t i = 0; i < image2.size(); ++i) {
    const double ratio = std::sqrt(image2[i] / norm2[i]);
    found.mean += ratio / double(image2.size());
    found.worst = std::max(found.worst, ratio);
  }
  return found;
}

}  // namespace trellis
