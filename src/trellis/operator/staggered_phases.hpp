#pragma once
/// This file has the U(1) field of staggered fermions and the factors of their hops (doc/conventions.md,
/// Staggered fermions): u_mu(x) = exp(i theta_mu(x)), theta = staggered phase + boundary + imaginary chemical
/// potential + electromagnetic flux.
#include <array>
#include <complex>
#include <functional>

#include "trellis/device/memory.hpp"
#include "trellis/lattice/hop_stencil.hpp"
#include "trellis/operator/wilson_params.hpp"
#include "trellis/view/hop_view.hpp"

namespace trellis {

/// The flux has planes in the order xy, xz, xt, yz, yt, zt.
inline constexpr int flux_planes = 6;
using Flux = std::array<int, flux_planes>;

struct StaggeredPhases {
  BoundaryPhases boundary{1.0, 1.0, 1.0, -1.0};  ///< they have modulus 1
  double mu_over_ipiT = 0.0;                     ///< theta_t += pi mu_over_ipiT / Lt
  Flux flux{};                                   ///< it has the quanta k of each plane, the charge included
};

/// Returns k of each plane from the charge in thirds of e and the quanta b (b_x, b_y, b_z), e (e_x, e_y,
/// e_z): b_z is (x,y), b_x (y,z), b_y minus (x,z), e_a (a,t).
Flux flux_of(int charge_thirds, const std::array<int, 3>& b, const std::array<int, 3>& e);

/// Returns theta_mu(x) / 2 pi in [0, 1), x in global coordinates. @pre boundary phases have modulus 1 (else
/// BadArgument)
double staggered_turns(const StaggeredPhases& phases, const Coord& extents, const Coord& x, int mu);
/// Returns d theta_mu(x) / d k of one plane of the flux (periodic in k only up to 2 pi).
double flux_weight(int plane, const Coord& extents, const Coord& x, int mu);

/// The factors of one hop are forward(x, mu) of the leg to x + d mu, and backward(y, mu) of the leg from x to
/// y = x - d mu.
struct HopFactors {
  using Factor = std::function<std::complex<double>(const Coord& x, int mu)>;  ///< x is in global coordinates
  Factor forward, backward;
};
/// Returns the factors of the Dirac operator, times a coefficient: u and -conj(u); at distance 3 the products
/// of three u.
HopFactors dirac_factors(const StaggeredPhases& phases, const Coord& extents, int distance = 1,
                         double coefficient = 1.0);

/// It has the factors of all legs in the order of a stencil; rows that are equal are stored once
/// (view/hop_view.hpp).
/// Rows hold the factor in double, rounded once to the scalar of the arithmetic.
class PhaseTable {
 public:
  PhaseTable(const HopStencil& stencil, const HopFactors& factors, Precision precision, Backend backend);
  RawPhases raw(int parity) const;
  int rows() const { return rows_; }
  size_t bytes() const { return memory_.bytes() + index_[0].bytes() + index_[1].bytes(); }

 private:
  Memory index_[2], memory_;
  int rows_ = 0;
};

}  // namespace trellis
