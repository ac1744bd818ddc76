#pragma once
/// Quark propagators of domain-wall fermions solve D5 psi = D_- [P_+ b at s = 0, P_- b at s = Ls - 1] for the
/// twelve columns of a source, with q = P_- psi_0 + P_+ psi_{Ls-1}. This q is (D_ov^-1 - 1)/(1 - m_f):
/// nothing is subtracted or multiplied again (doc/conventions.md).
#include <functional>

#include "trellis/measure/propagator.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"

namespace trellis {

struct DomainWallSolve {
  SolverSpec solver = EvenOddSpec{MixedPrecisionSpec{CgSpec{}, Precision::half_precision}};
  int columns_per_solve = 1;  ///< links are shared by the slices already; more columns need more memory
  bool keeps_five = false;    ///< conserved currents need them
  bool measures_axial_current = false;  ///< it gives A_4(t) with the source's pion (axial_current.hpp)
  /// The first guess is the kept 5-D fields of a propagator that was solved with the same columns_per_solve;
  /// without any it is zero.
  const std::vector<SpinorField>* guess = nullptr;
};

struct DomainWallPropagator {
  Propagator quark;
  /// The midpoint is q_mid = P_- psi_{Ls/2} + P_+ psi_{Ls/2-1}; m_res(t) = sum |q_mid|^2 / sum |q|^2.
  std::optional<Propagator> midpoint;  ///< only an even Ls has one
  std::vector<SpinorField> five;       ///< they are psi of each solve, where asked for
  std::vector<double> axial_current;   ///< it is A_4(t), t from the source, where asked for
};

/// Solves for the quark propagator of a source. A missed tolerance is no error: it is in the report, whose
/// residuals are those of D5 in double. Collective.
/// @pre matrix in double; source on its lattice; columns_per_solve divides 12; with measures_axial_current an
/// even Ls and one b5 and c5; a guess is of this lattice, Ls and columns_per_solve
DomainWallPropagator solve_domain_wall(const DomainWallMatrixPtr& matrix, const DomainWallSolve& how,
                                       const Source& source);

/// Does the same for any right-hand sides: set_source(b, first) fills those of columns first, first + 1, ...
/// `at` and `description` are the source's. @pre not measures_axial_current
DomainWallPropagator solve_domain_wall(const DomainWallMatrixPtr& matrix, const DomainWallSolve& how,
                                       const Coord& at, const std::string& description,
                                       const std::function<void(SpinorField& b, int first)>& set_source);

/// Sets eta = [P_+ b at s = 0, P_- b at s = Ls - 1] of columns first, first + 1, ... first + out.rhs() - 1.
void set_walls(SpinorField& eta, const SpinorField& columns, int first);
/// Sets D_- [P_+ b at s = 0, P_- b at s = Ls - 1] of columns first, first + 1, ... first + out.rhs() - 1.
void set_wall_source(SpinorField& out, const DomainWallMatrix& matrix, const SpinorField& columns, int first);
/// Writes P_- psi_minus + P_+ psi_plus of every right-hand side into out's columns from `first` on.
void set_chiral_quark(SpinorField& out, int first, const SpinorField& psi, int slice_minus, int slice_plus);

/// Returns m_res(t) = midpoint(t) / pion(t), t from the source. @pre S has a midpoint
std::vector<double> residual_mass(const DomainWallPropagator& S);

/// Returns the bytes of a solve at its peak on this rank, without the operator.
size_t domain_wall_solve_bytes(const Geometry& geometry, int Ls, int columns_per_solve, int work_fields = 6);

}  // namespace trellis
