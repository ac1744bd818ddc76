#include "trellis/multigrid/test_vectors.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"

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
