#pragma once
/// Old links give stout ones (another field; C. Morningstar and M. Peardon, Phys. Rev. D69 (2004) 054501):
///
///   U' = exp(TA(C U^dagger)) U,  C = sum_nu rho_munu (staples in the plane)
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/kernels/gauge/staples.hpp"

namespace trellis {

/// The numbers are those of a site, for all four directions.
inline constexpr KernelCost stout_cost{6 * (7 * 198 + 6 * 18) + 4 * (2 * 198 + 24 + exponential_flops),
                                       2 * 72 * 8};

struct StoutCall {
  GaugeCall gauge;
  RawField out;
  RawField staples;       ///< it gets C, unless null
  double rho[4][4] = {};  ///< it is [mu][nu]; a row of zeros copies the link
};

template <class Layout, class Storage>
class StoutSmearing {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit StoutSmearing(const StoutCall& call)
      : call_{call},
        U_{call.gauge.links, call.gauge.tables},
        out_{call.out, call.gauge.tables},
        staples_{call.staples, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    ColorMatrix<Real> C[4];
    for (int mu = 0; mu < 4; ++mu) C[mu] = zero_matrix<Real>();
    for (int mu = 0; mu < 4; ++mu)
      for (int nu = mu + 1; nu < 4; ++nu)
        if (call_.rho[mu][nu] != 0 || call_.rho[nu][mu] != 0) add_plane(x, mu, nu, C[mu], C[nu]);
    for (int mu = 0; mu < 4; ++mu) store(block, mu, C[mu]);
  }
  /// Does one direction, which is what a thread of a GPU takes: four sums are too many for its registers.
  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    const Position x = U_.at(block);
    ColorMatrix<Real> C = zero_matrix<Real>();
    TRELLIS_GPU_LOOP
    for (int nu = 0; nu < 4; ++nu)
      if (nu != mu && call_.rho[mu][nu] != 0)
        C = C + Real(call_.rho[mu][nu]) * (upper_staple(x, mu, nu) + lower_staple(U_, x, mu, nu));
    store(block, mu, C);
  }

 private:
  /// Stores what the staples C give.
  TRELLIS_SITE_FN void store(int block, int mu, const ColorMatrix<Real>& C) const {
    if (call_.staples.data != nullptr) staples_.store(block, mu, C);
    const auto link = U_.link(U_.at(block), mu);
    bool is_smeared = false;
    for (int nu = 0; nu < 4; ++nu) is_smeared = is_smeared || (nu != mu && call_.rho[mu][nu] != 0);
    out_.store(block, mu,
               is_smeared ? exponential(traceless_antihermitian(mul_dagger(C, link))) * link : link);
  }
  /// Returns the product that both upper staples of a plane share, mu < nu.
  TRELLIS_SITE_FN ColorMatrix<Real> corner(Position x, int mu, int nu) const {
    return mul_dagger(U_.link(U_.step(x, nu, 1), mu), U_.link(U_.step(x, mu, 1), nu));
  }
  /// Returns the upper staple with the bits that add_plane() has.
  TRELLIS_SITE_FN ColorMatrix<Real> upper_staple(Position x, int mu, int nu) const {
    const auto link = U_.link(x, nu);
    return mu < nu ? link * corner(x, mu, nu) : mul_dagger(link, corner(x, nu, mu));
  }
  /// Adds both staples of a plane for both of its links. The upper ones share the product of the links that
  /// do not begin in x.
  TRELLIS_SITE_FN void add_plane(Position x, int mu, int nu, ColorMatrix<Real>& C_mu,
                                 ColorMatrix<Real>& C_nu) const {
    const auto shared = corner(x, mu, nu);
    if (call_.rho[mu][nu] != 0)
      C_mu = C_mu + Real(call_.rho[mu][nu]) * (U_.link(x, nu) * shared + lower_staple(U_, x, mu, nu));
    if (call_.rho[nu][mu] != 0)
      C_nu =
          C_nu + Real(call_.rho[nu][mu]) * (mul_dagger(U_.link(x, mu), shared) + lower_staple(U_, x, nu, mu));
  }

  StoutCall call_;
  Gauge U_, out_, staples_;
};

template <class Layout, class Storage>
void launch_stout_smearing(const StoutCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
