#include "reference/even_odd.hpp"

namespace trellis::reference {

namespace {
/// Returns D_pq psi for psi on parity q; the result lives on the other parity, since H changes it.
SpinorVector off_diagonal(const WilsonOperator& D, const SpinorVector& psi, bool is_dagger) {
  SpinorVector out = zero_spinors(int64_t(psi.size()));
  add_scaled(out, -0.5, D.hop(psi, is_dagger));
  return out;
}
}  // namespace

SpinorVector schur_asymmetric(const WilsonOperator& D, int parity, const SpinorVector& psi, bool is_dagger) {
  const SpinorVector psi_p = restricted_to(psi, parity, D.links().extents);
  const SpinorVector there = D.diagonal_inverse(off_diagonal(D, psi_p, is_dagger), is_dagger);
  return difference(D.diagonal(psi_p, is_dagger), off_diagonal(D, there, is_dagger));
}

SpinorVector schur_symmetric(const WilsonOperator& D, int parity, const SpinorVector& psi, bool is_dagger) {
  const SpinorVector psi_p = restricted_to(psi, parity, D.links().extents);
  if (!is_dagger) {
    const SpinorVector there = D.diagonal_inverse(off_diagonal(D, psi_p, false));
    return difference(psi_p, D.diagonal_inverse(off_diagonal(D, there, false)));
  }
  // The factors stand in the opposite order: 1 - (D^dagger)_pq A_qq^-dagger (D^dagger)_qp A_pp^-dagger
  const SpinorVector there = off_diagonal(D, D.diagonal_inverse(psi_p, true), true);
  return difference(psi_p, off_diagonal(D, D.diagonal_inverse(there, true), true));
}

SpinorVector schur_source(const WilsonOperator& D, int parity, const SpinorVector& b) {
  const Coord& L = D.links().extents;
  const SpinorVector there = D.diagonal_inverse(restricted_to(b, 1 - parity, L));
  return difference(restricted_to(b, parity, L), off_diagonal(D, there, false));
}

SpinorVector schur_solution(const WilsonOperator& D, int parity, const SpinorVector& x_p,
                            const SpinorVector& b) {
  const Coord& L = D.links().extents;
  const SpinorVector here = restricted_to(x_p, parity, L);
  SpinorVector x =
      D.diagonal_inverse(difference(restricted_to(b, 1 - parity, L), off_diagonal(D, here, false)));
  add_scaled(x, 1.0, here);
  return x;
}

}  // namespace trellis::reference
