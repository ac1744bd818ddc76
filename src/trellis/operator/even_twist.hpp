#pragma once
/// This operator is M + i rho gamma5 on the even sites, where M is a Wilson, clover or twisted-mass operator:
/// its even-odd Schur complement with the odd sites eliminated is S + i rho gamma5. For twisted mass 0
///
///   (S + i rho gamma5)^dagger (S + i rho gamma5) = S^dagger S + rho^2,
///
/// which are the denominators of M. Hasenbusch and K. Jansen (Nucl. Phys. B659 (2003) 299).
#include <map>

#include "trellis/operator/wilson.hpp"

namespace trellis {

class EvenTwist final : public LinearOperator {
 public:
  /// @pre M is not null; rho is finite
  EvenTwist(std::shared_ptr<const WilsonOperator> M, double rho);

  FieldSpec domain(int columns = 1) const override { return M_->domain(columns); }
  const LatticePtr& domain_lattice() const override { return M_->domain_lattice(); }
  Cost cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override;

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  std::shared_ptr<const WilsonOperator> M_;
  double rho_;
  /// There is one for each number of columns; it is zero on the odd sites.
  mutable std::map<int, SpinorField> work_;
};

}  // namespace trellis
