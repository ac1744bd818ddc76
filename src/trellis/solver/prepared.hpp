#pragma once
/// This is computed once for an operator and used by many of its solves: low modes, and what comes.
///
/// One life cycle: it is made for an operator, is refused for another, can be stored, and can be made anew
/// for an operator that has changed a little, from what it holds.
#include <memory>
#include <string>

#include "trellis/field/linear_operator.hpp"

namespace trellis {

class Prepared {
 public:
  virtual ~Prepared() = default;
  /// Returns "24 eigenvectors of symmetric even-odd Wilson", for instance.
  virtual std::string name() const = 0;
  /// Throws BadArgument unless it can be A's: it cannot where it was made for other fields, links or
  /// parameters. Collective.
  virtual void require_belong_to(const LinearOperator& A) const = 0;
  /// Makes the same for A, beginning with what is known of the operator before. Collective.
  virtual std::shared_ptr<const Prepared> updated(const LinearOperatorPtr& A) const = 0;
  /// Returns the bytes of this rank.
  virtual size_t memory() const = 0;
};

using PreparedPtr = std::shared_ptr<const Prepared>;

}  // namespace trellis
