#include "trellis/operator/wilson.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

WilsonOperator::WilsonOperator(const GaugeField& U, const WilsonParams& params, const KernelChoice& choice)
    : WilsonOperator(std::make_shared<WilsonMatrix>(U, params, choice)) {}

void WilsonOperator::multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const {
  for (int parity = 0; parity < 2; ++parity)
    matrix_->apply_hop_plus(out, parity, in, -0.5, in, true, is_dagger);
}

Cost WilsonOperator::cost(int columns) const {
  const double spinor = 24.0 * element_bytes(matrix_->choice().precision);
  const double volume = double(matrix_->lattice().volume());
  Cost cost = cost_of(
      volume * columns * (wilson_hop_flops + 48.0 + matrix_->diagonal_flops(false)),
      volume * (matrix_->hop().bytes_per_site(columns) + matrix_->diagonal_bytes(false) + columns * spinor));
  cost += 2 * matrix_->hop().hop_cost(columns);
  cost.launches += 2 * matrix_->diagonal_launches();
  return cost;
}

LinearOperatorPtr WilsonOperator::converted(Precision precision) const {
  return std::make_shared<WilsonOperator>(matrix_->converted(precision));
}

namespace {
std::string describe(const WilsonParams& p) {
  std::string text = "Wilson";
  if (p.has_clover()) text += "-clover";
  if (p.twisted_mass != 0) text = "twisted-mass " + text;
  return text;
}
}  // namespace

std::shared_ptr<const SchurOperator> WilsonOperator::schur(SchurForm form) const {
  return std::make_shared<WilsonSchur>(matrix_, form);
}

std::string WilsonOperator::name() const { return describe(matrix_->params()); }

WilsonSchur::WilsonSchur(WilsonMatrixPtr matrix, SchurForm form, int parity)
    : matrix_{std::move(matrix)}, form_{form}, parity_{parity} {
  TRELLIS_REQUIRE(parity == 0 || parity == 1, "parity ", parity, " is not 0 (even) or 1 (odd)");
}

SpinorField& WilsonSchur::workspace(int which, int parity, int rhs) const {
  auto& field = workspace_[{which, parity, rhs}];
  if (!field) field = std::make_unique<SpinorField>(matrix_->hop().make_field(subset_of(parity), rhs));
  return *field;
}

/// Both hops go together, but not with a clover term and a twisted mass.
void WilsonSchur::run_fused(SpinorField& out, const SpinorField& in, bool is_dagger,
                            Coefficients* norm2) const {
  SpinorField& odd = workspace(0, 1 - parity_, in.rhs());
  TileNorms norms(out);
  const auto run = [&](const SpinorField& source, HopTask to_out,
                       const std::function<void(const SiteRange&)>& prepare) {
    if (norm2) to_out.then = [&](const SiteRange& tile, const RawField& place) { norms.add(tile, place); };
    matrix_->hop().apply_twice(out, odd, parity_, source, matrix_->inverse_hop(1.0, is_dagger), to_out,
                               prepare);
  };
  const bool is_asymmetric = form_ == SchurForm::asymmetric;
  if (!begins_with_diagonal(is_dagger)) {
    run(in,
        is_asymmetric ? matrix_->hop_plus(-0.25, in, true, is_dagger)
                      : matrix_->inverse_hop_plus(-0.25, in, is_dagger),
        {});
  } else {  // it is 1 - 1/4 H^dagger A^-1 H^dagger A^-1
    SpinorField& even = workspace(1, parity_, in.rhs());
    run(even, matrix_->hop_plus(-0.25, in, false, true),
        [&](const SiteRange& sites) { matrix_->apply_diagonal_inverse(even, in, parity_, true, sites); });
  }
  if (norm2) *norm2 = norms.values();
}

bool WilsonSchur::begins_with_diagonal(bool is_dagger) const {
  return is_dagger && form_ == SchurForm::symmetric && !matrix_->has_real_diagonal();
}

void WilsonSchur::run(SpinorField& out, const SpinorField& in, bool is_dagger, Coefficients* norm2) const {
  if (matrix_->can_fuse_diagonal()) return run_fused(out, in, is_dagger, norm2);
  SpinorField& odd = workspace(0, 1 - parity_, in.rhs());
  if (is_dagger && form_ == SchurForm::symmetric) {
    SpinorField& even = workspace(1, parity_, in.rhs());
    matrix_->apply_diagonal_inverse(even, in, parity_, true);
    matrix_->apply_inverse_hop(odd, 1 - parity_, even, 1.0, true);
    return matrix_->apply_hop_plus(out, parity_, odd, -0.25, in, false, true, norm2);
  }
  matrix_->apply_inverse_hop(odd, 1 - parity_, in, 1.0, is_dagger);
  if (form_ == SchurForm::asymmetric)
    matrix_->apply_hop_plus(out, parity_, odd, -0.25, in, true, is_dagger, norm2);
  else
    matrix_->apply_inverse_hop_plus(out, parity_, odd, -0.25, in, is_dagger, norm2);
}

void WilsonSchur::multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const {
  run(out, in, is_dagger, sums.wants_norm2 ? &sums.norm2 : nullptr);
  if (!sums.norm2.empty()) sums.book(out, 0, matrix_->hop().launches_then(out.slots()));
}

Cost WilsonSchur::cost_of_form(int columns, bool is_dagger) const {
  const double spinor = 24.0 * element_bytes(matrix_->choice().precision);
  const double half = 0.5 * double(matrix_->lattice().volume());
  const bool is_symmetric = form_ == SchurForm::symmetric;
  const double flops = matrix_->diagonal_flops(true) + matrix_->diagonal_flops(is_symmetric);
  const double bytes = matrix_->diagonal_bytes(true) + matrix_->diagonal_bytes(is_symmetric);
  Cost cost = cost_of(half * columns * (2.0 * wilson_hop_flops + 48.0 + flops),
                      half * (2.0 * matrix_->hop().bytes_per_site(columns) + bytes + columns * spinor));
  cost += 2 * matrix_->hop().hop_cost(columns);
  cost.launches += matrix_->can_fuse_diagonal() ? int(begins_with_diagonal(is_dagger)) : 2;
  return cost;
}

Cost WilsonSchur::inverse_diagonal_cost(int columns) const {
  const double spinor = 24.0 * element_bytes(matrix_->choice().precision);
  const double half = 0.5 * double(matrix_->lattice().volume());
  Cost cost = cost_of(half * columns * matrix_->diagonal_flops(true),
                      half * (matrix_->diagonal_bytes(true) + 2 * columns * spinor));
  cost.launches = 1;
  return cost;
}

Cost WilsonSchur::hop_plus_cost(int columns) const {
  const double spinor = 24.0 * element_bytes(matrix_->choice().precision);
  const double half = 0.5 * double(matrix_->lattice().volume());
  return cost_of(half * columns * (wilson_hop_flops + 48.0),
                 half * (matrix_->hop().bytes_per_site(columns) + columns * spinor)) +
         matrix_->hop().hop_cost(columns);
}

Cost WilsonSchur::source_cost(int columns) const {
  const int diagonals = form_ == SchurForm::symmetric ? 2 : 1;
  return diagonals * inverse_diagonal_cost(columns) + hop_plus_cost(columns);
}

Cost WilsonSchur::reconstruction_cost(int columns) const {
  return hop_plus_cost(columns) + inverse_diagonal_cost(columns) + copy_cost(columns);
}

LinearOperatorPtr WilsonSchur::converted(Precision precision) const {
  return std::make_shared<WilsonSchur>(matrix_->converted(precision), form_, parity_);
}

std::string WilsonSchur::name() const {
  return "even-odd " + describe(matrix_->params()) +
         (form_ == SchurForm::symmetric ? " (symmetric)" : " (asymmetric)");
}

void WilsonSchur::prepare_source(SpinorField& schur_source, const SpinorField& b) const {
  SpinorField& odd = workspace(0, 1 - parity_, b.rhs());
  SpinorField& even = workspace(1, parity_, b.rhs());
  matrix_->apply_diagonal_inverse(odd, b, 1 - parity_, false);
  if (form_ == SchurForm::asymmetric) {
    matrix_->apply_hop_plus(schur_source, parity_, odd, 0.5, b, false, false);
    return;
  }
  matrix_->apply_hop_plus(even, parity_, odd, 0.5, b, false, false);
  matrix_->apply_diagonal_inverse(schur_source, even, parity_, false);
}

void WilsonSchur::reconstruct(SpinorField& x, const SpinorField& schur_solution, const SpinorField& b) const {
  SpinorField& odd = workspace(0, 1 - parity_, b.rhs());
  matrix_->apply_hop_plus(odd, 1 - parity_, schur_solution, 0.5, b, false, false);
  matrix_->apply_diagonal_inverse(x, odd, 1 - parity_, false);
  insert_parity(x, schur_solution);
}

}  // namespace trellis
