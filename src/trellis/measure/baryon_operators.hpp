#pragma once
/// The baryons of the octet and the decuplet are lists of terms (doc/operators/contractions.md).
#include <array>
#include <complex>
#include <string>
#include <vector>

#include "trellis/algebra/gamma.hpp"

namespace trellis {

enum class Flavour { up = 0, down = 1, strange = 2 };

/// It is coefficient eps (q0^T G q1) q2_gamma: the form `full`, with any spin matrix G.
struct DiquarkTerm {
  double coefficient;
  std::array<Flavour, 3> quarks;
};
using DiquarkOperator = std::vector<DiquarkTerm>;

/// It is coefficient eps q0 q1 q2 of quarks that are projected to gamma_t = +-1: spin 1 is up, 0 is down
/// along z.
struct ProjectedTerm {
  double coefficient;
  std::array<Flavour, 3> quarks;
  std::array<int, 3> spins;
};
using ProjectedOperator = std::vector<ProjectedTerm>;

/// Lists proton, neutron, sigma_plus, sigma_zero, sigma_minus, xi_zero, xi_minus and lambda.
const std::vector<std::string>& octet_names();
/// Lists delta_plus_plus, delta_plus, delta_zero, delta_minus, sigma_star_plus, sigma_star_zero,
/// sigma_star_minus, xi_star_zero, xi_star_minus and omega_minus.
const std::vector<std::string>& decuplet_names();

bool is_decuplet(const std::string& name);

/// Returns C gamma5 with C = gamma_y gamma_t.
GammaMatrix octet_diquark();
/// Returns C gamma_k, k = 0, 1, 2.
GammaMatrix decuplet_diquark(int k);

/// Returns an operator of the `full` octet. Proton (q1 = u, q2 = d) and its like: eps (q1^T G q2) q1; Lambda:
/// [2 (u^T G d) s + (u^T G s) d - (d^T G s) u] / sqrt6; Sigma0: the isospin partner of Sigma+.
/// Throws BadArgument that lists the names.
DiquarkOperator diquark_operator(const std::string& octet_name);

/// Returns an operator of the `full` decuplet with a symmetric diquark G. Delta++, Delta-, Omega-: eps (q^T G
/// q) q; Delta+ (q1 = u, q2 = d) and its like: eps [2 (q1^T G q2) q1 + (q1^T G q1) q2] / sqrt3; Sigma*0: the
/// isospin partner of Sigma*+. With equal quarks all have the same correlator.
DiquarkOperator decuplet_operator(const std::string& name);

/// Returns an operator of the `projected` octet or decuplet, twice_spin = +-1 (octet) or +-3, +-1 (decuplet):
///   octet      (1/sqrt2) eps (q1_up q2_down - q1_down q2_up) q1_up
///   Lambda     (1/sqrt2) eps (u_up d_down - u_down d_up) s_up
///   decuplet   3/2: eps q1_up q1_up q2_up;  1/2: (1/sqrt3) eps (2 q1_up q1_down q2_up + q1_up q1_up q2_down)
/// Up and down are exchanged for negative spin; Sigma0 and Sigma*0 are isospin partners of Sigma+ and
/// Sigma*+.
ProjectedOperator projected_operator(const std::string& name, int twice_spin);

/// Returns the values of twice_spin of a baryon, largest first.
std::vector<int> spin_states(const std::string& name);

}  // namespace trellis
