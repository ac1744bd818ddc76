#pragma once
/// M x = b is solved through a Schur complement S on half the sites, to a residual of M x = b itself; all
/// quarks take this one path.
///
/// |b - M x| is not the residual of S: the diagonal blocks stand between them (for staggered quarks a factor
/// 1/m). How far the two differ for a source, whose residual x = 0 on S leaves whole, is what S is solved
/// more accurately by from the start. Where that is not enough, the residual b - M x becomes the source of a
/// correction: so the error of rounding is one of M, and not of the worse conditioned S.
#include <optional>

#include "trellis/field/schur_operator.hpp"
#include "trellis/solver/methods/cg.hpp"

namespace trellis {

/// `solver` solves S; its tolerance is one of M x = b. The report counts all that was done; its residuals are
/// |b - M x| / |b|, and it has converged where all of them are within the tolerance.
/// @pre M has a Schur complement of that form
struct EvenOddSpec {
  SolverSpec solver = CgSpec{};
  SchurForm form = SchurForm::symmetric;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

/// Returns the spec of an even-odd solver, and nothing for another one.
std::optional<EvenOddSpec> even_odd_system(const SolverSpec& solver);

}  // namespace trellis
