#include "trellis/multigrid/coarse_modes.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/solver/eigen/chebyshev_filter.hpp"
#include "trellis/solver/eigen/hermitian_matrix.hpp"
#include "trellis/solver/normal_operator.hpp"

namespace trellis {

namespace {

/// The search has so many vectors beside those that are wanted.
constexpr int guard_vectors = 4;
/// The filter damps eigenvalues above this part of the upper end.
constexpr double cutoff_of_upper = 1.0 / 32;
/// The filter amplifies wanted modes by this factor, against all others together.
constexpr double amplification = 30;
constexpr int power_steps = 12, most_passes = 6;
/// This |A v - lambda v| / lambda is good enough, or this / upper in the arithmetic of solves.
constexpr double least_accuracy = 1, rounding = 2e-6;
constexpr double margin_of_upper = 1.2;

/// Returns an upper end of the spectrum of a positive operator, by a power iteration.
double upper_end(const LinearOperator& A, const SiteField& start, SolveCost& cost) {
  SpinorField v = A.make_field(1), image = SpinorField::like(v);
  copy_columns(v, 0, start, 0, 1);
  double upper = 0;
  for (int i = 0; i < power_steps; ++i) {
    A.apply(image, v);
    const double norm2_of_image = norm2(image);
    if (!(norm2_of_image > 0) || !std::isfinite(norm2_of_image))
      throw NumericError("low modes of the coarse operator: it is zero or not finite");
    upper = std::sqrt(norm2_of_image / norm2(v));
    combine(v, 1 / std::sqrt(norm2_of_image), image, 0.0, image);
  }
  cost.add_applications(A, 1, power_steps);
  cost.add_linear_algebra(v, 4.0 * power_steps, 5.0 * power_steps, 3 * power_steps, 2 * power_steps);
  return margin_of_upper * upper;
}

/// Returns the columns of a field, orthonormal in their order.
std::vector<SpinorField> orthonormal_columns(const SpinorField& all, SolveCost& cost) {
  std::vector<SpinorField> columns;
  FieldSpec spec = all.spec();
  spec.rhs = 1;
  for (int j = 0; j < all.rhs(); ++j) {
    SpinorField& v = columns.emplace_back(all.lattice_ptr(), spec);
    copy_columns(v, 0, all, j, 1);
    const FieldList before = first_of(columns, size_t(j));
    for (int pass = 0; pass < 2 && j > 0; ++pass) subtract_each(v, dots_each(before, v), before);
    combine(v, 1 / std::sqrt(norm2(v)), v, 0.0, v);
    cost.add_linear_algebra(v, 4.0 * j + 6, 32.0 * j + 5, 4, j > 0 ? 3 : 1);
  }
  return columns;
}

/// Does Rayleigh-Ritz for S^dagger S in the span of the columns of a field.
void mix_to_ritz_vectors(Eigenvectors& found, const SpinorField& all, const LinearOperator& S,
                         SolveCost& cost) {
  const std::vector<SpinorField> columns = orthonormal_columns(all, cost);
  const int block = int(columns.size());
  std::vector<SpinorField> images;
  DenseMatrix H(block);
  for (int j = 0; j < block; ++j) {
    S.apply(images.emplace_back(SpinorField::like(columns.front())), columns[size_t(j)]);
    const FieldCoefficients h = dots_each(first_of(images, size_t(j) + 1), images.back());
    for (int i = 0; i <= j; ++i) H.at(i, j) = h[size_t(i)].front();
    cost.add_applications(S, 1, 1);
    cost.add_linear_algebra(columns.front(), j + 2.0, 8.0 * (j + 1), 1, 1);
  }
  const HermitianEigensystem ritz = diagonalise(H);
  found.values = ritz.values;
  found.vectors.clear();
  for (int k = 0; k < block; ++k) {
    FieldCoefficients minus;
    for (int i = 0; i < block; ++i) minus.push_back({-ritz.vectors.at(i, k)});
    SpinorField& v = found.vectors.emplace_back(SpinorField::like(columns.front()));
    subtract_each(v, minus, first_of(columns, columns.size()));
    cost.add_linear_algebra(v, block + 2.0, 8.0 * block, 1, 0);
  }
}

/// Computes |A v - lambda v| of the vectors, and whether the first `count` are good enough.
void judge(Eigenvectors& found, const LinearOperator& A, const SpinorField& vectors, double upper, int count,
           SolveCost& cost) {
  SpinorField image = SpinorField::like(vectors);
  A.apply(image, vectors);
  Coefficients minus;
  for (const double value : found.values) minus.push_back(-value);
  const Coefficients r2 = combine_norm2(image, Coefficients(minus.size(), 1.0), image, minus, vectors);
  cost.add_applications(A, vectors.rhs(), 1);
  cost.add_linear_algebra(vectors, 3, 5, 1, 1);
  found.relative_residual.clear();
  found.converged = true;
  for (size_t k = 0; k < r2.size(); ++k) {
    found.relative_residual.push_back(std::sqrt(r2[k]) / upper);
    const double enough = std::max(least_accuracy * found.values[k] / upper, rounding);
    if (int(k) < count && !(found.relative_residual[k] <= enough)) found.converged = false;
  }
}

}  // namespace

std::shared_ptr<const Eigenvectors> find_coarse_modes(const CoarseMatrixPtr& coarse,
                                                      const CoarseMatrixPtr& solved, int count, uint64_t seed,
                                                      Cost& total) {
  const Stopwatch watch;
  SolveCost cost;
  const LinearOperatorPtr S = CoarseOperator(coarse).schur(SchurForm::symmetric);
  const NormalOperator A(S);
  const double dimension = double(coarse->lattice_ptr()->volume()) / 2 * 2 * coarse->vectors();
  count = std::min(count, int(dimension / 4) - guard_vectors);
  if (count < 1) return nullptr;
  const int block = count + guard_vectors;
  SpinorField vectors = A.make_field(block), filtered = SpinorField::like(vectors);
  fill_with_noise(vectors, seed, coarse_noise, all_columns(vectors));
  const double upper = upper_end(A, vectors, cost);
  const double reach = std::acosh(amplification * std::sqrt(dimension));
  const int degree = int(std::ceil(reach / (2 * std::sqrt(cutoff_of_upper))));
  const ChebyshevFilter filter(A, degree, cutoff_of_upper * upper, upper);
  auto found = std::make_shared<Eigenvectors>();
  for (int pass = 0; pass < most_passes && !found->converged; ++pass) {
    filter.apply(filtered, vectors, cost);
    mix_to_ritz_vectors(*found, filtered, *S, cost);
    for (int j = 0; j < block; ++j) copy_columns(vectors, j, found->vectors[size_t(j)], 0, 1);
    judge(*found, A, vectors, upper, count, cost);
  }
  found->values.resize(size_t(count));
  found->relative_residual.resize(size_t(count));
  found->vectors.erase(found->vectors.begin() + count, found->vectors.end());
  found->keep_images(CoarseSchur(solved, SchurForm::symmetric), cost);
  found->upper = upper;
  found->operator_name = S->name();
  found->degree = degree;
  found->cutoff = cutoff_of_upper * upper;
  found->tolerance = least_accuracy;
  found->seconds = watch.seconds();
  found->flops = cost.flops;
  found->bytes = cost.bytes;
  total += cost;
  return found;
}

}  // namespace trellis
