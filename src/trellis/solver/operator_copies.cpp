#include "trellis/solver/operator_copies.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

OperatorCopies::OperatorCopies(const LinearOperator& A)
    : OperatorCopies(LinearOperatorPtr(LinearOperatorPtr(), &A)) {}

OperatorCopies::OperatorCopies(LinearOperatorPtr A) : A_{std::move(A)} {
  TRELLIS_REQUIRE(A_ != nullptr, "a solver needs an operator");
  precision_ = A_->make_field(1).precision();
}

OperatorCopies& OperatorCopies::provide(LinearOperatorPtr copy) {
  auto node = std::make_unique<OperatorCopies>(std::move(copy));
  TRELLIS_REQUIRE((*node)->is_hermitian() == A_->is_hermitian(), "inner and outer operator (",
                  (*node)->name(), ", ", A_->name(), ") differ in hermiticity");
  const Precision precision = node->precision();
  in_storage_[precision] = std::move(node);
  return *this;
}

const OperatorCopies& OperatorCopies::in(Precision precision) const {
  if (precision == precision_) return *this;
  auto& node = in_storage_[precision];
  if (!node) node = std::make_unique<OperatorCopies>(A_->converted(precision));
  return *node;
}

const OperatorCopies& OperatorCopies::schur(SchurForm form) const {
  auto& node = systems_[form];
  if (!node) {
    auto system = A_->schur(form);
    if (!system) throw BadArgument(message(A_->name(), " has no even-odd form"));
    node = std::make_unique<OperatorCopies>(LinearOperatorPtr(system));
    node->schur_ = std::move(system);
  }
  return *node;
}

}  // namespace trellis
