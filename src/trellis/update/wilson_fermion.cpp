#include "trellis/update/wilson_fermion.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/clover_field.hpp"
#include "trellis/solver/normal_operator.hpp"

namespace trellis {

namespace {
constexpr int odd = 1;
}

void WilsonFermion::set_links(const GaugeField& V, int64_t version) {
  if (version == version_) return;
  V_ = std::make_unique<GaugeField>(V);
  matrix_ = std::make_shared<WilsonMatrix>(V, params_, KernelChoice{.backend = V.backend()});
  schur_ = std::make_shared<WilsonSchur>(matrix_, SchurForm::asymmetric);
  normal_ = std::make_shared<NormalOperator>(schur_);
  converted_.clear();
  version_ = version;
}

LinearOperatorPtr WilsonFermion::op() const {
  TRELLIS_REQUIRE(normal_ != nullptr, "no links were set");
  return normal_;
}

LinearOperatorPtr WilsonFermion::converted_op(Precision precision) {
  LinearOperatorPtr& entry = converted_[precision];
  if (!entry) entry = op()->converted(precision);
  return entry;
}

void WilsonFermion::begin_trajectory() {
  if (factor_solver_) factor_solver_->begin_trajectory(version_);
}

std::optional<SolveReport> WilsonFermion::solve_by_factors(SpinorField& x, const SpinorField& b,
                                                           const FactorSolve& how) {
  if (!factor_solver_ || !factor_solver_->serves(params_, how.shift)) return {};
  if (how.shift == 0) return factor_solver_->solve(*op(), matrix_, version_, x, b, how);
  return factor_solver_->solve(ShiftedOperator(op(), how.shift), matrix_, version_, x, b, how);
}

void WilsonFermion::add_derivative(LinkDerivative& G, const std::vector<const SpinorField*>& X,
                                   const std::vector<double>& c) {
  TRELLIS_REQUIRE(V_ != nullptr && X.size() == c.size(), "derivative of ", X.size(), " fields with ",
                  c.size(), " coefficients");
  derivative_.begin(*V_);
  for (size_t k = 0; k < X.size(); ++k) {
    SpinorField y = SpinorField::like(*X[k]);
    schur_->apply(y, *X[k]);
    SpinorField x_full = matrix_->hop().make_field(Subset::full, X[k]->rhs());
    SpinorField y_full = SpinorField::like(x_full);
    insert_parity(x_full, *X[k]);
    insert_parity(y_full, y);
    matrix_->apply_inverse_hop(x_full, odd, x_full, 0.5, false);
    matrix_->apply_inverse_hop(y_full, odd, y_full, 0.5, true);
    derivative_.add(G, y_full, x_full, 2 * c[k]);
  }
  derivative_.finish(G);
}

double WilsonFermion::derivative_flops(int fields) const {
  return double(matrix_->lattice().volume()) * derivative_.flops(fields) +
         fields * (schur_->cost(1).flops + double(matrix_->lattice().volume()) * wilson_hop_flops);
}

double WilsonFermion::derivative_bytes(int fields) const {
  const double volume = double(matrix_->lattice().volume());
  return volume * derivative_.bytes(fields) +
         fields * (schur_->cost(1).bytes + volume * matrix_->hop().bytes_per_site(1));
}

double CloverDeterminantMonomial::action(const GaugeField& U) {
  const GaugeField& V = links()->at(U);
  const PartTimer timer(costs()[Part::action]);
  const SpinorField A = clover_term(V, params_);
  if (params_.twisted_mass == 0) return -n_f_ * clover_log_determinant(A, odd);
  return 0.5 * n_f_ * clover_log_determinant(twisted_clover_inverse(A, params_).B, odd);
}

void CloverDeterminantMonomial::add_derivative(LinkDerivative& G, const GaugeField& V, double coefficient) {
  const PartTimer timer(costs()[Part::fermion_force]);
  derivative_.begin(V);
  const SpinorField A = clover_term(V, params_);
  // Here d log det(A^2 + mu^2) = 2 tr[(A^2 + mu^2)^-1 A dA].
  const SpinorField inverse =
      params_.twisted_mass == 0 ? clover_inverse(A, params_) : twisted_clover_inverse(A, params_).C;
  derivative_.add_log_determinant(inverse, odd, -n_f_ * coefficient);
  derivative_.finish(G);
  costs()[Part::fermion_force].flops += double(V.lattice().volume()) * derivative_.flops(0);
  costs()[Part::fermion_force].bytes += double(V.lattice().volume()) * derivative_.bytes(0);
}

}  // namespace trellis
