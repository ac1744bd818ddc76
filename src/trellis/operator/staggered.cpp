#include "trellis/operator/staggered.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

StaggeredMatrix::StaggeredMatrix(StaggeredLinksPtr links, const StaggeredPhases& phases, double mass,
                                 Precision precision)
    : hopping_{std::make_shared<StaggeredHopping>(std::move(links), phases, precision)}, mass_{mass} {
  TRELLIS_REQUIRE(std::isfinite(mass), "the mass of a staggered operator is ", mass);
}

StaggeredMatrixPtr StaggeredMatrix::converted(Precision precision) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = converted_[precision];
  if (!entry) entry = std::make_shared<StaggeredMatrix>(hopping_->links(), phases(), mass_, precision);
  return entry;
}

void StaggeredOperator::multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const {
  for (int parity = 0; parity < 2; ++parity)
    matrix_->hopping().apply(out, parity, in, is_dagger ? -0.5 : 0.5, &in, matrix_->mass());
}

/// A site takes the hop, its factor 1/2 and the mass term.
Cost StaggeredOperator::cost(int columns) const {
  const StaggeredHopping& hop = matrix_->hopping();
  const double volume = double(matrix_->lattice().volume());
  const double vector = 6.0 * double(element_bytes(matrix_->precision()));
  Cost cost = cost_of(volume * columns * (hop.flops_per_site() + 18.0),
                      volume * (hop.bytes_per_site(columns) + columns * vector));
  for (int parity = 0; parity < 2; ++parity) cost += hop.hop_cost(parity, columns);
  return cost;
}

std::shared_ptr<const SchurOperator> StaggeredOperator::schur(SchurForm) const {
  return std::make_shared<StaggeredSchur>(matrix_);
}

LinearOperatorPtr StaggeredOperator::converted(Precision precision) const {
  return std::make_shared<StaggeredOperator>(matrix_->converted(precision));
}

StaggeredSchur::StaggeredSchur(StaggeredMatrixPtr matrix, double shift, int parity)
    : matrix_{std::move(matrix)}, shift_{shift}, parity_{parity} {
  TRELLIS_REQUIRE(matrix_ != nullptr, "an even-odd staggered operator needs a matrix");
  TRELLIS_REQUIRE(std::isfinite(shift), "the shift of an even-odd staggered operator is ", shift);
  TRELLIS_REQUIRE(parity == 0 || parity == 1, "a parity is 0 or 1, not ", parity);
}

LinearOperatorPtr StaggeredSchur::with_shift(double shift) const {
  return std::make_shared<StaggeredSchur>(matrix_, shift_ + shift, parity_);
}

SpinorField& StaggeredSchur::workspace(int rhs) const {
  auto& field = workspace_[rhs];
  if (!field)
    field = std::make_unique<SpinorField>(matrix_->hopping().make_field(subset_of(1 - parity_), rhs));
  return *field;
}

void StaggeredSchur::multiply(SpinorField& out, const SpinorField& in, bool, ColumnSums& sums) const {
  const StaggeredHopping& hop = matrix_->hopping();
  const double m = matrix_->mass(), a = m * m + shift_;
  SpinorField& middle = workspace(in.rhs());
  if (!sums.wants_real_dot || !hop.sums_energies(in.rhs()) || a == 0)
    return hop.apply_twice(out, middle, parity_, in, {0.5}, {-0.5, &in, a});
  sums.real_dot = hop.apply_twice_with_energy(out, middle, parity_, in, {0.5}, {-0.5, &in, a});
  sums.book(out, 0, 0);
}

/// An even site takes two hops with their factors 1/2 and the mass term.
Cost StaggeredSchur::cost(int columns) const {
  const StaggeredHopping& hop = matrix_->hopping();
  const double half = 0.5 * double(matrix_->lattice().volume());
  const double vector = 6.0 * double(element_bytes(matrix_->precision()));
  Cost cost = cost_of(half * columns * (2.0 * hop.flops_per_site() + 24.0),
                      half * (2.0 * hop.bytes_per_site(columns) + columns * vector));
  for (int parity = 0; parity < 2; ++parity) cost += hop.hop_cost(parity, columns);
  return cost;
}

Cost StaggeredSchur::hop_plus_cost(int parity, int columns) const {
  const StaggeredHopping& hop = matrix_->hopping();
  const double half = 0.5 * double(matrix_->lattice().volume());
  const double vector = 6.0 * double(element_bytes(matrix_->precision()));
  return cost_of(half * columns * (hop.flops_per_site() + 18.0),
                 half * (hop.bytes_per_site(columns) + columns * vector)) +
         hop.hop_cost(parity, columns);
}

LinearOperatorPtr StaggeredSchur::converted(Precision precision) const {
  return std::make_shared<StaggeredSchur>(matrix_->converted(precision), shift_, parity_);
}

void StaggeredSchur::prepare_source(SpinorField& source, const SpinorField& b) const {
  TRELLIS_REQUIRE(shift_ == 0, "a shifted operator has no source of M x = b");
  TRELLIS_REQUIRE(b.subset() == Subset::full && source.subset() == subset_of(parity_),
                  "prepare_source takes a full source and gives the sites of one parity");
  matrix_->hopping().apply(source, parity_, b, -0.5, &b, matrix_->mass());
}

void StaggeredSchur::reconstruct(SpinorField& x, const SpinorField& solution, const SpinorField& b) const {
  const double m = matrix_->mass();
  TRELLIS_REQUIRE(m != 0.0 && shift_ == 0,
                  "the other sites of a staggered solution need a mass that is not 0");
  insert_parity(x, solution);
  matrix_->hopping().apply(x, 1 - parity_, x, -0.5 / m, &b, 1.0 / m);
}

void StaggeredSchur::extend(SpinorField& z, const SpinorField& x) const {
  insert_parity(z, x);
  matrix_->hopping().apply(z, 1 - parity_, z, 0.5);
}

}  // namespace trellis
