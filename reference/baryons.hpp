#pragma once
/// Baryon two-point functions are computed by writing out all Wick contractions and both epsilon tensors
/// (doc/conventions.md, Correlators). It is slow but plain.
#include <array>
#include <complex>
#include <vector>

#include "reference/mesons.hpp"

namespace trellis::reference {

/// A term is coefficient eps_abc q0^a q1^b q2^c with the given flavours (indices into a list of propagators)
/// and spins.
struct BaryonTerm {
  std::complex<double> coefficient;
  std::array<int, 3> flavour;
  std::array<int, 3> spin;
};
using BaryonOperator = std::vector<BaryonTerm>;

/// This is a general 4x4 spin matrix.
using SpinMatrix = std::array<std::array<std::complex<double>, 4>, 4>;
SpinMatrix spin_matrix(const GammaMatrix& gamma);
SpinMatrix operator+(const SpinMatrix& a, const SpinMatrix& b);
SpinMatrix operator*(const SpinMatrix& a, const SpinMatrix& b);
SpinMatrix operator*(std::complex<double> s, const SpinMatrix& a);

struct TwoPointOptions {
  std::array<int, 3> momentum{0, 0, 0};
  Coord source_at{0, 0, 0, 0};
  bool removes_antiperiodic_sign = true;  ///< times that wrapped around get -1
};

/// Returns sum_x exp(-i p.(x - x_src)) < A(x, t + t_src) B(x_src, t_src)^dagger >; quarks[flavour] is a
/// propagator.
std::vector<std::complex<double>> baryon_correlator(const BaryonOperator& A, const BaryonOperator& B,
                                                    const std::vector<Propagator>& quarks,
                                                    const TwoPointOptions& options = {});

/// The quarks enter by one of these: `full` has G = C gamma5; `projected` has G = C gamma5 (1 + gamma_t)/2,
/// which projects every quark at source and sink. C = gamma_y gamma_t.
enum class DiquarkForm { full, projected };

/// Returns N_gamma = eps_abc (q1_a^T G q2_b) (q1_c)_gamma: the proton for q1 = u, q2 = d; Sigma+ (u, s), Xi0
/// (s, u).
BaryonOperator octet_operator(DiquarkForm form, int q1, int q2, int gamma);

/// Returns tr[ P < N Nbar > ] with Nbar = N^dagger gamma_t.
std::vector<std::complex<double>> octet_two_point(DiquarkForm form, int q1, int q2, const SpinMatrix& P,
                                                  const std::vector<Propagator>& quarks,
                                                  const TwoPointOptions& options = {});

/// They return (1 + gamma_t)/2, and the same times -i gamma_x gamma_y (spin up minus spin down).
SpinMatrix unpolarised_projector();
SpinMatrix polarised_projector();

/// Returns the decuplet with G = C gamma_k, component gamma: eps [2 (q1^T G q2) q1 + (q1^T G q1) q2] / sqrt3,
/// and eps (q1^T G q1) q1 for q1 = q2.
BaryonOperator decuplet_operator(int q1, int q2, int k, int gamma);
/// Returns sum_ij tr[ (1 + gamma_t)/2 (delta_ij - gamma_i gamma_j / 3) < B_j Bbar_i > ].
std::vector<std::complex<double>> decuplet_two_point(int q1, int q2, const std::vector<Propagator>& quarks,
                                                     const TwoPointOptions& options = {});

/// These are operators of projected quarks: q_up and q_down are the eigenvectors of gamma_t = 1 and -i
/// gamma_x gamma_y = +-1 (the upper two components of the Dirac-Pauli basis).
///   octet:    (1/sqrt2) eps (q1_up q2_down - q1_down q2_up) q1_up        proton, Sigma+, Xi0, ...
///   lambda:   (1/sqrt2) eps (u_up d_down - u_down d_up) s_up
///   decuplet: spin 3/2: eps q1_up q1_up q2_up; spin 1/2: (1/sqrt3) eps (2 q1_up q1_down q2_up + q1_up q1_up
///   q2_down)
/// and the same with up and down exchanged. q1 = q2 in the decuplet gives Delta and Omega.
BaryonOperator projected_octet(int q1, int q2, bool is_up);
BaryonOperator projected_lambda(int u, int d, int s, bool is_up);
/// @param twice_spin is 3, 1, -1 or -3
BaryonOperator projected_decuplet(int q1, int q2, int twice_spin);

}  // namespace trellis::reference
