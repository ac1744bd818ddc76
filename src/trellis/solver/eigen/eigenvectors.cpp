#include "trellis/solver/eigen/eigenvectors.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/solver/eigen/block_lanczos.hpp"

namespace trellis {

namespace {
/// So many vectors are converted to double at a time.
constexpr size_t vectors_at_a_time = 8;
}  // namespace

std::string Eigenvectors::name() const { return message(count(), " eigenvectors of ", operator_name); }

PreparedPtr Eigenvectors::updated(const LinearOperatorPtr& A) const {
  TRELLIS_REQUIRE(!vectors.empty(), "there are no eigenvectors to begin with");
  LanczosSpec spec;
  spec.count = count();
  spec.tolerance = tolerance;
  spec.storage = vectors.front().precision();
  spec.start = this;
  return std::make_shared<Eigenvectors>(lanczos(A, spec));
}

size_t Eigenvectors::memory() const {
  size_t sum = 0;
  for (const SpinorField& v : vectors) sum += v.bytes();
  for (const SpinorField& image : images) sum += image.bytes();
  return sum;
}

void Eigenvectors::keep_images(const LinearOperator& A, SolveCost& cost) {
  images.clear();
  for (const SpinorField& v : vectors) A.apply(images.emplace_back(SpinorField::like(v)), v);
  cost.add_applications(A, 1, count());
}

void Eigenvectors::deflate_by_images(SpinorField& x, SpinorField& r, const SpinorField& b,
                                     SolveCost& cost) const {
  const FieldList all = first_of(images, images.size());
  FieldCoefficients c = dots_each(all, b);
  stop_point();
  for (size_t i = 0; i < c.size(); ++i)
    for (auto& value : c[i]) value /= values[i];
  copy(r, b);
  subtract_each(r, c, all);
  for (auto& of_vector : c)
    for (auto& value : of_vector) value = -value;
  set_zero(x);
  subtract_each(x, c, first_of(vectors, vectors.size()));
  const int launches = launches_of(images.front(), b, images.size());
  cost.add_linear_algebra(b, 8, 24.0 * count(), 3 * launches, 1);
  cost.add_linear_algebra(images.front(), 3.0 * count(), 0, 0, 0);
}

void Eigenvectors::deflate(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                           SolveCost& cost) const {
  const int rhs = b.rhs();
  SpinorField residual = SpinorField::like(b), gradient = SpinorField::like(b);
  A.apply(residual, x);
  combine(residual, 1.0, b, -1.0, residual);
  A.apply_dagger(gradient, residual);
  std::vector<SpinorField> v(std::min(vectors_at_a_time, vectors.size()), A.make_field(1));
  for (size_t begin = 0; begin < vectors.size(); begin += v.size()) {
    const size_t n = std::min(v.size(), vectors.size() - begin);
    for (size_t i = 0; i < n; ++i) convert(v[i], vectors[begin + i]);
    const FieldList some = first_of(v, n);
    FieldCoefficients c = dots_each(some, gradient);
    stop_point();
    for (size_t i = 0; i < n; ++i)
      for (auto& value : c[i]) value /= -values[begin + i];
    subtract_each(x, c, some);
  }
  cost.add_applications(A, rhs, 1);
  cost.add_dagger_applications(A, rhs, 1);
  const int batches = int((vectors.size() + v.size() - 1) / v.size());
  cost.add_linear_algebra(b, 3 + 3 * batches, 2 + 8.0 * count(),
                          1 + 2 * batches * launches_of(v.front(), b, v.size()), batches);
  cost.add_linear_algebra(v.front(), 4.0 * count(), 0, 0, 0);
}

bool Eigenvectors::are_like_fields_of(const LinearOperator& A) const {
  const SpinorField probe = A.make_field(1);
  FieldSpec spec = vectors.front().spec();
  spec.precision = probe.precision();
  spec.lanes = probe.spec().lanes;
  return vectors.front().lattice_ptr() == probe.lattice_ptr() && spec == probe.spec();
}

void Eigenvectors::require_belong_to(const LinearOperator& A) const {
  TRELLIS_REQUIRE(!vectors.empty(), "there are no eigenvectors to deflate with");
  TRELLIS_REQUIRE(are_like_fields_of(A), "eigenvectors of ", operator_name, " cannot deflate ", A.name(),
                  ": they live on another lattice, parity or number of slices");
  const SpinorField probe = A.make_field(1);
  SpinorField v = SpinorField::like(probe), image = SpinorField::like(probe);
  convert(v, vectors.front());
  A.apply(image, v);
  const double found = norm2(image) / norm2(v), expected = values.front();
  TRELLIS_REQUIRE(std::abs(found - expected) <= 0.05 * expected + 1e-8 * upper, "eigenvectors of ",
                  operator_name, " do not belong to ", A.name(), ": |A v|^2 is ", found, " where ", expected,
                  " was expected (other links, mass or even-odd form?)");
}

}  // namespace trellis
