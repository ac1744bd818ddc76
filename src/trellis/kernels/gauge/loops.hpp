#pragma once
/// Loops of the gauge field have one partial sum per site (doc/conventions.md, Gauge action):
///
///   P_munu(x) = U_mu(x) U_nu(x+mu) U_mu(x+nu)^dagger U_nu(x)^dagger,
///   R_munu(x) = U_mu(x) U_mu(x+mu) U_nu(x+2mu) U_mu(x+mu+nu)^dagger U_mu(x+nu)^dagger U_nu(x)^dagger.
///
/// Re tr(A B^dagger) takes 35 flop, a matrix product 198.
#include <array>

#include "trellis/algebra/su3.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

/// It counts 6 planes of 2 products and a trace, 4 additions, 2 factors.
inline constexpr KernelCost plaquette_cost{6 * (2 * 198 + 35) + 6, 72 * 8};
/// It counts 4 double links; 12 orientations of 3 products and a trace; 11 additions, 1 factor.
inline constexpr KernelCost rectangle_cost{4 * 198 + 12 * (3 * 198 + 35) + 12, 72 * 8};

/// Loops are made of the directions that the lattice has: there are none with an extent of 1. Kernels for all
/// four directions ask nothing.
struct LoopCall : GaugeCall {
  bool has_direction[4] = {true, true, true, true};
  bool has_all() const {
    return has_direction[0] && has_direction[1] && has_direction[2] && has_direction[3];
  }
};
template <bool all_directions>
class LoopDirections {
 public:
  explicit LoopDirections(const LoopCall& call) {
    for (int mu = 0; mu < 4; ++mu) has_[mu] = call.has_direction[mu];
  }
  TRELLIS_SITE_FN bool has(int mu) const { return all_directions || has_[mu]; }

 private:
  bool has_[4];
};

/// The terms are sums of Re tr P / 3 over the spatial and over the temporal planes at the site.
template <class Layout, class Storage, bool all_directions>
class PlaquetteSum {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit PlaquetteSum(const LoopCall& call) : U_{call.links, call.tables}, directions_{call} {}

  TRELLIS_SITE_FN std::array<Real, 2> operator()(int block) const {
    const Position x = U_.at(block);
    Real spatial(0.0), temporal(0.0);
    for (int mu = 0; mu < 4; ++mu)
      for (int nu = mu + 1; nu < 4; ++nu) {
        if (!directions_.has(mu) || !directions_.has(nu)) continue;
        const Real of_plane = plane(x, mu, nu);
        if (nu == 3)
          temporal = temporal + of_plane;
        else
          spatial = spatial + of_plane;
      }
    const Real third(1.0 / 3.0);
    return {third * spatial, third * temporal};
  }

 private:
  TRELLIS_SITE_FN Real plane(Position x, int mu, int nu) const {
    const auto forward = U_.link(x, mu) * U_.link(U_.step(x, mu, 1), nu);
    const auto sideways = U_.link(x, nu) * U_.link(U_.step(x, nu, 1), mu);
    return real_trace_mul_dagger(forward, sideways);
  }
  Gauge U_;
  LoopDirections<all_directions> directions_;
};

/// The term is the sum of Re tr R / 3 over the 12 orientations at the site.
template <class Layout, class Storage, bool all_directions>
class RectangleSum {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit RectangleSum(const LoopCall& call) : U_{call.links, call.tables}, directions_{call} {}

  TRELLIS_SITE_FN std::array<Real, 1> operator()(int block) const {
    const Position x = U_.at(block);
    Real sum(0.0);
    for (int mu = 0; mu < 4; ++mu) {
      if (!directions_.has(mu)) continue;
      const Position x1 = U_.step(x, mu, 1), x2 = U_.step(x1, mu, 1);
      const auto twice = U_.link(x, mu) * U_.link(x1, mu);
      for (int nu = 0; nu < 4; ++nu) {
        if (nu == mu || !directions_.has(nu)) continue;
        const Position y = U_.step(x, nu, 1);
        const auto far = U_.link(y, mu) * U_.link(U_.step(y, mu, 1), mu);
        const auto around = U_.link(x, nu) * far;
        sum = sum + real_trace_mul_dagger(twice * U_.link(x2, nu), around);
      }
    }
    return {Real(1.0 / 3.0) * sum};
  }

 private:
  Gauge U_;
  LoopDirections<all_directions> directions_;
};

/// The term is the sum of Re tr U_mu(x) / 3 over mu.
template <class Layout, class Storage, bool all_directions>
class LinkTraceSum {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit LinkTraceSum(const LoopCall& call) : U_{call.links, call.tables}, directions_{call} {}

  TRELLIS_SITE_FN std::array<Real, 1> operator()(int block) const {
    Real sum(0.0);
    for (int mu = 0; mu < 4; ++mu) {
      if (!directions_.has(mu)) continue;
      const auto U = U_.link(U_.at(block), mu);
      sum = sum + ((U.e[0][0].re + U.e[1][1].re) + U.e[2][2].re);
    }
    return {Real(1.0 / 3.0) * sum};
  }

 private:
  Gauge U_;
  LoopDirections<all_directions> directions_;
};

/// It finds the largest |(U U^dagger - 1)_ij|^2 and |det U - 1|^2 over the links of a site (NaN if a link is
/// not finite).
template <class Layout, class Storage>
class UnitarityViolation {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit UnitarityViolation(const GaugeCall& call) : U_{call.links, call.tables} {}

  TRELLIS_SITE_FN Real operator()(int block) const {
    Real largest(0.0), finite_check(0.0);
    auto include = [&](const Complex<Real>& z) {
      const Real size = norm2(z);
      finite_check = finite_check + (size - size);  // NaN stays
      largest = maximum(largest, size);
    };
    for (int mu = 0; mu < 4; ++mu) {
      const auto U = U_.link(U_.at(block), mu);
      for (int i = 0; i < Nc; ++i)
        for (int j = 0; j <= i; ++j) {
          Complex<Real> sum = conj_mul(U.e[j][0], U.e[i][0]);
          conj_mul_add(sum, U.e[j][1], U.e[i][1]);
          conj_mul_add(sum, U.e[j][2], U.e[i][2]);
          if (i == j) sum.re = sum.re - Real(1.0);
          include(sum);
        }
      Complex<Real> det = determinant(U);
      det.re = det.re - Real(1.0);
      include(det);
    }
    return largest + finite_check;
  }

 private:
  Gauge U_;
};

/// Adds the plaquettes as above to sums[0] and sums[1]. Collective sums are the caller's.
template <class Layout, class Storage>
void launch_plaquette_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sums);
template <class Layout, class Storage>
void launch_rectangle_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sum);
template <class Layout, class Storage>
void launch_link_trace_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sum);
/// Returns the largest over the range, squared, or infinity if a link is not finite.
template <class Layout, class Storage>
double launch_unitarity_violation(const GaugeCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
