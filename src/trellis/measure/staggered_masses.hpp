#pragma once
/// Staggered quarks with many masses and the same links need one multi-shift solve of M x = b for all of
/// them.
///
///   M_k = m_k + D,   x_k = (m_k - D) y_k,   (m_k^2 - D^2) y_k = b
///
/// m^2 - D^2 connects sites of one parity only. A source on both parities takes one multi-shift solve on
/// each. The residual of y_k is that of x_k: nothing is divided by a mass.
#include <vector>

#include "trellis/operator/staggered.hpp"
#include "trellis/solver/multi_shift_cg.hpp"

namespace trellis {

/// Solves for all masses; `matrix` says links and phases, and its own mass is not looked at. Afterwards the
/// residual of M_k x_k = b is computed in double for every mass and column, and a mass that misses the
/// tolerance is finished by conjugate gradients of its own.
///
/// In the report, relative_residual is [mass][right-hand side] and iterations are those of all solves one
/// after the other. Not converging is no error. Collective.
/// @pre masses are finite and not 0; b is full, in double and of the matrix's layout
SolveReport solve_masses(const StaggeredMatrix& matrix, const std::vector<double>& masses,
                         std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec);

/// Returns the bytes per rank of such a solve at its peak, for so many masses and right-hand sides: source,
/// solutions, and the fields of the recursion (the operator is not counted).
size_t solve_masses_bytes(const Geometry& geometry, int masses, int columns, Precision precision);

}  // namespace trellis
