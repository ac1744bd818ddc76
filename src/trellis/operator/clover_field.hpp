#pragma once
/// The site-diagonal part of the Wilson-clover operator is A(x) = diagonal + clover term; this file makes it
/// and its inverse.
#include "trellis/field/gauge_field.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/operator/wilson_params.hpp"

namespace trellis {

/// Makes A(x) on all sites, 72 reals (kernels/dirac/clover_term.hpp), in double, with the gauge field's
/// lanes.
SpinorField clover_term(const GaugeField& U, const WilsonParams& params);
/// Returns A(x)^-1 of the clover term of `params`, exactly. Throws NumericError if a block is singular (NaN
/// or Inf in the result). Collective.
SpinorField clover_inverse(const SpinorField& clover, const WilsonParams& params);
/// Returns log det A over the sites of one parity. Throws NumericError where a block is not positive. The sum
/// is exact. Collective.
double clover_log_determinant(const SpinorField& clover, int parity);
/// It has B = (A^2 + mu^2)^-1 and C = A B of A = clover, mu = params.twisted_mass: (A + i mu gamma5)^-1 = C -
/// i mu gamma5 B.
struct TwistedInverse {
  SpinorField B, C;
};
/// Throws what clover_inverse() throws. Collective.
TwistedInverse twisted_clover_inverse(const SpinorField& clover, const WilsonParams& params);

}  // namespace trellis
