#pragma once
/// Energy density and topological charge come from lattice field strengths (doc/conventions.md, Smearing and
/// flow):
///
///   E(x) = - sum_{mu<nu} tr F_munu^2,   q(x) = -(1/32 pi^2) sum eps_munurhosigma tr F_munu F_rhosigma
///        = -(1/4 pi^2) (tr F_xy F_zt + tr F_xz F_ty + tr F_xt F_yz),
///
/// F is anti-hermitian with its trace removed: it is (Q - Q^dagger)/8 with the four 1x1 leaves (clover), (R -
/// R^dagger)/16 with the eight 2x1 and 1x2 leaves (rectangle), (P - P^dagger)/2 with the one plaquette.
#include <array>

#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/gauge/paths.hpp"

namespace trellis {

enum class LeafShape { clover, rectangle, plaquette };

/// Adds up the leaves of the orientation mu -> nu that begin and end at x.
template <class View>
TRELLIS_SITE_FN auto leaf_sum(const View& U, Position x, int mu, int nu, LeafShape shape) {
  const int m = 2 * mu, n = 2 * nu;
  const int turns[4][2] = {{m, n}, {n, m + 1}, {m + 1, n + 1}, {n + 1, m}};
  auto sum = zero_matrix<typename View::Real>();
  const int leaves = shape == LeafShape::plaquette ? 1 : 4;
  for (int k = 0; k < leaves; ++k) {
    const int a = turns[k][0], b = turns[k][1], back_a = reversed_leg(a), back_b = reversed_leg(b);
    if (shape == LeafShape::rectangle) {
      const int lying[6] = {a, a, b, back_a, back_a, back_b}, standing[6] = {a, b, b, back_a, back_b, back_b};
      sum = sum + walk(U, x, lying);
      sum = sum + walk(U, x, standing);
    } else {
      const int leaf[4] = {a, b, back_a, back_b};
      sum = sum + walk(U, x, leaf);
    }
  }
  return sum;
}

/// Terms are E(x), and 4 pi^2 q(x) with the charge's sign. Six planes have 4 leaves with 3 products each.
template <class Layout, class Storage>
class FieldStrengthSum {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  FieldStrengthSum(const GaugeCall& call, LeafShape shape) : U_{call.links, call.tables}, shape_{shape} {}

  TRELLIS_SITE_FN std::array<Real, 2> operator()(int block) const {
    // These are the components of F in the planes xy, xz, xt, yz, yt, zt: F = sum_a f_a T_a, tr F G = -(1/2)
    // sum_a f_a g_a.
    const int planes[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    const Real scale(shape_ == LeafShape::clover ? 0.25 : shape_ == LeafShape::rectangle ? 0.125 : 1.0);
    Real f[6][8];
    for (int k = 0; k < 6; ++k) {
      algebra_components(leaf_sum(U_, U_.at(block), planes[k][0], planes[k][1], shape_), f[k]);
      for (int a = 0; a < 8; ++a) f[k][a] = scale * f[k][a];  // (A - A^dagger)/2 has the components of A
    }
    Real energy(0.0);
    for (int k = 0; k < 6; ++k) energy = energy + product(f[k], f[k]);
    // The signs are those of eps_xzty = +1 and F_ty = -F_yt.
    const Real density = (product(f[0], f[5]) - product(f[1], f[4])) + product(f[2], f[3]);
    return {Real(0.5) * energy, Real(0.5) * density};
  }

 private:
  TRELLIS_SITE_FN static Real product(const Real (&f)[8], const Real (&g)[8]) {
    Real sum = f[0] * g[0];
    for (int a = 1; a < 8; ++a) sum = fma(f[a], g[a], sum);
    return sum;
  }
  Gauge U_;
  LeafShape shape_;
};

/// sums[0] is E summed over sites; sums[1] is 4 pi^2 Q.
template <class Layout, class Storage>
void launch_field_strength_sum(const GaugeCall& call, LeafShape shape, const SiteRange& inner_blocks,
                               ExactSum* sums);

}  // namespace trellis
