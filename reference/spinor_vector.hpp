#pragma once
/// This file has spinor fields of the reference code and the linear algebra that its solvers need.
#include <complex>
#include <functional>
#include <vector>

#include "trellis/algebra/gamma.hpp"
#include "trellis/algebra/spinor.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::reference {

/// There is one spinor a site, in lexicographic order, x fastest.
using SpinorVector = std::vector<Spinor<double>>;

/// It is a linear operator: out = M in.
using SpinorOperator = std::function<SpinorVector(const SpinorVector&)>;

inline Complex<double> to_complex(std::complex<double> z) { return {z.real(), z.imag()}; }
inline std::complex<double> to_std(Complex<double> z) { return {z.re, z.im}; }

SpinorVector zero_spinors(int64_t volume);
Spinor<double> operator+(const Spinor<double>& a, const Spinor<double>& b);
Spinor<double> operator-(const Spinor<double>& a, const Spinor<double>& b);
Spinor<double> operator*(Complex<double> s, const Spinor<double>& a);
Spinor<double> operator*(const ColorMatrix<double>& U, const Spinor<double>& a);
/// Returns Gamma psi: (Gamma psi)_row = phase[row] psi_{column[row]}.
Spinor<double> operator*(const GammaMatrix& gamma, const Spinor<double>& a);

/// Computes y += a x.
void add_scaled(SpinorVector& y, std::complex<double> a, const SpinorVector& x);
SpinorVector difference(const SpinorVector& a, const SpinorVector& b);
SpinorVector multiply(const GammaMatrix& gamma, const SpinorVector& a);
/// Returns sum_x a(x)^dagger b(x).
std::complex<double> dot(const SpinorVector& a, const SpinorVector& b);
double norm2(const SpinorVector& a);

/// Returns a on the sites of one parity, and zero elsewhere.
SpinorVector restricted_to(const SpinorVector& a, int parity, const Coord& extents);

}  // namespace trellis::reference
