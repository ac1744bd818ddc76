#pragma once
/// These say how light a quark is on a field: the lowest eigenvalue of gamma5 M, and masses from pion
/// correlators.
#include <functional>
#include <vector>

#include "trellis/field/linear_operator.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis::bench {

/// It finds x with M x = b for any number of columns.
using Inverse = std::function<void(SpinorField& x, const SpinorField& b)>;

struct LowestEigenvalue {
  double size = 0;            ///< it is |lambda|
  double relative_error = 0;  ///< it bounds what further steps can change
};
/// Returns the lowest eigenvalue of gamma5 M, which is hermitian for real masses, after so many steps of
/// Lanczos with its inverse. Collective.
LowestEigenvalue lowest_eigenvalue(const LinearOperator& M, const Inverse& inverse, int steps);

/// A point source at the origin has these correlators by time: sum_x |S|^2, and -sum_x tr[gamma_t S
/// S^dagger], the axial current at the sink.
struct PionCorrelators {
  std::vector<double> pseudoscalar, axial;
  /// Returns the mean over t from T/4 to T/2 - 1 of (C_A(t+1) - C_A(t-1)) / (4 C_P(t)), where the current is
  /// unimproved.
  double pcac_mass() const;
  /// Returns arcosh of (C_P(t+1) + C_P(t-1)) / (2 C_P(t)), the mean over the same times.
  double pion_mass() const;
};
/// Computes the correlators. Collective. @pre M is a Wilson operator in time of at least 8 sites
PionCorrelators pion_correlators(const LinearOperator& M, const Inverse& inverse);

}  // namespace trellis::bench
