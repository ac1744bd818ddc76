#pragma once
/// Re <in, A in>, which conjugate gradients need with every product A in.
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/linear_operator.hpp"

namespace trellis {

/// What operators inherit that form the energy more cheaply than by a pass over in and out.
class EnergySum {
 public:
  virtual ~EnergySum() = default;
  /// out = A in; Re <in, A in> of each right-hand side.
  virtual Coefficients apply_with_energy(SpinorField& out, const SpinorField& in) const = 0;
  /// Fields that are moved beyond those of apply().
  virtual int energy_fields() const = 0;
};

/// out = A in; Re <in, A in> of each right-hand side. @pre A is hermitian
Coefficients apply_with_energy(const LinearOperator& A, SpinorField& out, const SpinorField& in);
/// Fields that it moves beyond those of A.apply().
int energy_fields(const LinearOperator& A);

/// Re <x, y> of each right-hand side.
Coefficients real_dot_each(const SpinorField& x, const SpinorField& y);

}  // namespace trellis
