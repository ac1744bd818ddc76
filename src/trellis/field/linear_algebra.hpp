#pragma once
/// Linear algebra works on fields with any number of reals a site: they are complex numbers where it is even,
/// and real ones where it is odd. Fields of one call have the same lattice, subset, storage and number of
/// right-hand sides (convert() excepted); outputs come first and may be inputs too. Norms and dots are
/// global, exact sums, which have the same bits on any number of ranks, threads and lanes.
#include <complex>
#include <vector>

#include "trellis/field/spinor_field.hpp"

namespace trellis {

using Coefficients = std::vector<double>;                       ///< each right-hand side has one
using ComplexCoefficients = std::vector<std::complex<double>>;  ///< each right-hand side has one

void set_zero(SpinorField& x);
void copy(SpinorField& out, const SpinorField& in);
/// Converts any storage, layout and backend to any other (same lattice, subset and right-hand sides).
void convert(SpinorField& out, const SpinorField& in);
/// Set out to the sites of one parity of `in` (full), and back.
void extract_parity(SpinorField& out, const SpinorField& in);
void insert_parity(SpinorField& out, const SpinorField& in);

/// Sets out = a x.
void scale(SpinorField& out, double a, const SpinorField& x);
/// Set out = a x + b y.
void combine(SpinorField& out, double a, const SpinorField& x, double b, const SpinorField& y);
void combine(SpinorField& out, const Coefficients& a, const SpinorField& x, const Coefficients& b,
             const SpinorField& y);
void combine(SpinorField& out, const ComplexCoefficients& a, const SpinorField& x,
             const ComplexCoefficients& b, const SpinorField& y);
/// Sets out = a x + b y and returns |out|^2 in one pass.
Coefficients combine_norm2(SpinorField& out, const Coefficients& a, const SpinorField& x,
                           const Coefficients& b, const SpinorField& y);
Coefficients combine_norm2(SpinorField& out, const ComplexCoefficients& a, const SpinorField& x,
                           const ComplexCoefficients& b, const SpinorField& y);
/// Sets x += alpha p, then p = r + beta p, in one pass (the two updates that end a CG iteration).
void update_solution_and_direction(SpinorField& x, const Coefficients& alpha, SpinorField& p,
                                   const Coefficients& beta, const SpinorField& r);

/// Returns |x|^2 per right-hand side; NaN if the field has a NaN or Inf.
Coefficients norm2_each(const SpinorField& x);
/// Returns |x| per right-hand side in double, also where |x|^2 leaves the range of double; NaN as above.
Coefficients norm_each(const SpinorField& x);
/// Returns conj(x) . y per right-hand side, and x . y of real numbers.
ComplexCoefficients dot_each(const SpinorField& x, const SpinorField& y);
/// Returns Re <x, y> per right-hand side.
Coefficients real_dot_each(const SpinorField& x, const SpinorField& y);
/// Return sums over right-hand sides.
double norm2(const SpinorField& x);
std::complex<double> dot(const SpinorField& x, const SpinorField& y);

}  // namespace trellis
