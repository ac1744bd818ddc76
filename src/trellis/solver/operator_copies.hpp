#pragma once
/// These are an operator with what solvers make of it: copies in other storages and even-odd systems, each
/// made when it is first asked for and shared by all solves with the same OperatorCopies.
#include <map>
#include <memory>
#include <string>

#include "trellis/base/precision.hpp"
#include "trellis/field/schur_operator.hpp"

namespace trellis {

/// Several threads may not use it at a time.
class OperatorCopies {
 public:
  /// @pre A lives longer than this
  OperatorCopies(const LinearOperator& A);  // NOLINT(google-explicit-constructor): an operator will do
  OperatorCopies(LinearOperatorPtr A);      // NOLINT(google-explicit-constructor)

  const LinearOperator& operator*() const { return *A_; }
  const LinearOperator* operator->() const { return A_.get(); }
  const LinearOperatorPtr& pointer() const { return A_; }
  Precision precision() const { return precision_; }

  /// Returns the operator in a storage, which is itself where it has that.
  const OperatorCopies& in(Precision precision) const;
  /// Returns its even-odd system. Throws BadArgument where it has none.
  const OperatorCopies& schur(SchurForm form) const;
  /// Returns the even-odd system that this is a node of. @pre made by schur()
  const SchurOperator& as_schur() const { return *schur_; }
  /// Takes a copy that the caller has already. @pre copy is A in another storage
  OperatorCopies& provide(LinearOperatorPtr copy);
  /// Returns what a solver makes of this operator beside copies of it; the key says what, and with which
  /// parameters.
  template <class T, class Make>
  std::shared_ptr<const T> made(const std::string& key, const Make& make) const {
    std::shared_ptr<const void>& found = made_[key];
    if (!found) found = std::shared_ptr<const T>(make());
    return std::static_pointer_cast<const T>(found);
  }

 private:
  LinearOperatorPtr A_;
  std::shared_ptr<const SchurOperator> schur_;
  Precision precision_;
  mutable std::map<Precision, std::unique_ptr<OperatorCopies>> in_storage_;
  mutable std::map<SchurForm, std::unique_ptr<OperatorCopies>> systems_;
  mutable std::map<std::string, std::shared_ptr<const void>> made_;
};

}  // namespace trellis
