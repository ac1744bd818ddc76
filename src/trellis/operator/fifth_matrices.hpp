#pragma once
/// The matrices of domain-wall operators along the fifth dimension are prepared for the kernel
/// (kernels/dirac/fifth_dimension.hpp).
#include "trellis/kernels/dirac/fifth_dimension.hpp"
#include "trellis/operator/domain_wall_params.hpp"

namespace trellis {

/// The matrix is (T psi)_i = u_i psi_i + v_i psi_{i-1}, psi_{-1} = psi_{N-1}, for the two chiralities in
/// their own order of slices.
struct CyclicBidiagonal {
  int slices = 1;
  std::complex<double> u[2][largest_Ls] = {}, v[2][largest_Ls] = {};
};

/// Return M = 1 - L + A B and B = b5 + c5 L, (L psi)_s = P_- psi_{s+1} + P_+ psi_{s-1}, with wrapped terms
/// times -m_f.
CyclicBidiagonal fifth_matrix_M(const DomainWallParams& params);
CyclicBidiagonal fifth_matrix_B(const DomainWallParams& params);
/// Returns the same number times each slice: slice s of both chiralities gets diagonal(s).
CyclicBidiagonal fifth_diagonal(int Ls, const std::vector<std::complex<double>>& diagonal);
/// Returns the adjoint, in the exchanged order of slices.
CyclicBidiagonal adjoint(const CyclicBidiagonal& T);

/// Returns the coefficients of out = T in.
FifthCoefficients product(const CyclicBidiagonal& T);
/// Returns those of out = T^-1 in. Throws NumericError where T is singular.
FifthCoefficients inverse(const CyclicBidiagonal& T);
/// Returns those of out = S T^-1 in.
FifthCoefficients inverse_then(const CyclicBidiagonal& T, const CyclicBidiagonal& S);
/// Returns those of out = T^-1 S in.
FifthCoefficients product_then_inverse(const CyclicBidiagonal& S, const CyclicBidiagonal& T);
/// Returns those of out = factor (the operator).
FifthCoefficients scaled(FifthCoefficients coefficients, double factor);

}  // namespace trellis
