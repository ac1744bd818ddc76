#pragma once
/// This file has loops of the gauge field and the gauge action (doc/conventions.md, Gauge action).
#include <complex>

#include "reference/gauge.hpp"

namespace trellis::reference {

/// They are means of Re tr P / 3 over sites and planes, which are 1 on the unit field.
struct PlaquetteMeans {
  double all, spatial, temporal;
};
PlaquetteMeans plaquette(const Gauge& U);
/// Returns the mean of Re tr / 3 of the 2x1 loops over sites and the 12 orientations.
double rectangle(const Gauge& U);
/// The loop goes R steps in mu, T steps in nu and back: it is the mean of Re tr / 3 over sites.
double wilson_loop(const Gauge& U, int mu, int R, int nu, int T);
/// Returns the mean of Re tr U / 3.
double link_trace(const Gauge& U);
/// Returns the mean over the transverse sites of tr prod_mu U_mu / 3.
std::complex<double> polyakov_loop(const Gauge& U, int mu = 3);
/// Returns the largest of |(U U^dagger - 1)_ij| and |det U - 1| over all links.
double unitarity_violation(const Gauge& U);

/// Returns S = beta sum_x [ c0 sum_{mu<nu} (1 - Re tr P_munu / 3) + c1 sum_{mu!=nu} (1 - Re tr R_munu / 3) ]
/// with c0 = 1 - 8 c1.
double gauge_action(const Gauge& U, double beta, double c1);

/// Returns F_mu(x) = sum_a T_a d/dt S(exp(t T_a) U_mu(x)) = (beta/6) TA[ c0 sum of the 6 plaquettes that
/// begin with U_mu(x) + c1 sum of the 18 rectangles that begin with it ]; the index is [4 site + mu], and tr
/// T_a T_b = -delta_ab / 2.
std::vector<ColorMatrix<double>> gauge_force(const Gauge& U, double beta, double c1);

}  // namespace trellis::reference
