#pragma once
/// This file has the even-odd (Schur) forms of D = [[A_ee, D_eo], [D_oe, A_oo]], D_pq = -H_pq / 2. p is the
/// parity that stays, and q is the one that is eliminated. Vectors have all sites; what belongs to the other
/// parity is zero.
#include "reference/wilson.hpp"

namespace trellis::reference {

/// Returns A_pp - D_pq A_qq^-1 D_qp.
SpinorVector schur_asymmetric(const WilsonOperator& D, int parity, const SpinorVector& psi,
                              bool is_dagger = false);
/// Returns 1 - A_pp^-1 D_pq A_qq^-1 D_qp.
SpinorVector schur_symmetric(const WilsonOperator& D, int parity, const SpinorVector& psi,
                             bool is_dagger = false);

/// Returns b_p - D_pq A_qq^-1 b_q, the right-hand side of the asymmetric form (A_pp^-1 of it is the symmetric
/// one's).
SpinorVector schur_source(const WilsonOperator& D, int parity, const SpinorVector& b);
/// Returns x = x_p + A_qq^-1 (b_q - D_qp x_p) on all sites.
SpinorVector schur_solution(const WilsonOperator& D, int parity, const SpinorVector& x_p,
                            const SpinorVector& b);

}  // namespace trellis::reference
