#pragma once
/// Over-relaxation and heat bath give new spins to the sites of one parity (doc/glass.md). Sites of one
/// parity do not see each other, so that the order of sites does not matter.
#include "trellis/algebra/random.hpp"
#include "trellis/kernels/glass/spin_neighbourhood.hpp"

namespace trellis {

/// These are flops and bytes a spin of one slot in single precision, where each number is read once and
/// written once: own spin 12 + 12, neighbours 12, couplings 24, or 1 of signs.
inline constexpr double over_relaxation_flops = 55;
inline constexpr double over_relaxation_bytes = 60, over_relaxation_bytes_of_signs = 37;

/// It reflects S -> 2 (S . h) h / h^2 - S. The energy stays; S stays where h is 0.
template <class Neighbourhood>
class OverRelaxation {
 public:
  using Real = typename Neighbourhood::Real;
  explicit OverRelaxation(const SpinCall& call) : around_{call} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    around_.with_bonds(block, [&](const auto& bonds) TRELLIS_INLINE_LAMBDA {
      if constexpr (Neighbourhood::is_of_one_slot)
        reflect(bonds, 0);
      else
        for (int slot = 0; slot < around_.slots(); ++slot) reflect(bonds, slot);
    });
  }
  TRELLIS_SITE_FN void operator()(int block, int slot) const { reflect(around_.bonds(block), slot); }

 private:
  template <class Bonds>
  TRELLIS_SITE_FN void reflect(const Bonds& bonds, int slot) const {
    Real S[3], h[3];
    around_.local_field(bonds, slot, h);
    around_.spins().load(bonds.block, slot, S);
    const Real square = dot(h, h), along = dot(S, h);
    const Real c = where_zero(square, Real(0), (along + along) / square);
    const Real s = where_zero(square, Real(1), Real(-1));
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA { S[i] = fma(c, h[i], s * S[i]); });
    around_.spins().store(bonds.block, slot, S);
  }

  Neighbourhood around_;
};

struct SpinHeatBathCall {
  SpinCall spins;
  const double* betas = nullptr;   ///< [slot]
  const int64_t* sites = nullptr;  ///< it has [block][lane]: index in the whole lattice
  RandomKey key{};
  uint32_t sweep = 0;
};

/// Draws a spin with the density exp(k S . axis), |axis| = 1; u are two uniform numbers. R is a real in
/// double.
template <class R>
TRELLIS_SITE_FN void draw_spin(const R& k, const R (&axis)[3], const std::array<R, 2>& u, R (&S)[3]) {
  const R one(1.0), two(2.0), r = u[0], rest = one - r;
  const auto is_small = less(k, R(1e-5));  // the series is exact to 1e-10 there, and the logarithm is beyond
  const R safe = select(is_small, one, k);
  const R drawn = one + logarithm(fma(rest, exponential(-(two * safe)), r)) / safe;
  R c = select(is_small, fma(two * k, r * rest, two * r - one), drawn);
  c = select(less(c, -one), -one, select(less(one, c), one, c));
  const R s = square_root(maximum(fnma(c, c, one), R(0.0)));
  const SinCos<R> angle = sin_cos_2pi(u[1]);
  const R x = s * angle.cos, y = s * angle.sin;
  // T. Duff et al. (2017) take two unit vectors across the axis. Both change sign with the axis, so that a
  // change of sign of spins and couplings changes nothing else.
  const auto sign = [&](const R& a, const R& if_zero) TRELLIS_INLINE_LAMBDA {
    return select(less(a, R(0.0)), -one, select(less(R(0.0), a), one, if_zero));
  };
  const R sigma = sign(axis[2], sign(axis[1], sign(axis[0], one)));
  const R f = -one / (sigma + axis[2]), b = (axis[0] * axis[1]) * f;
  const R first[3] = {fma(axis[0] * axis[0], f, sigma), b, -axis[0]};
  const R second[3] = {b, fma(axis[1] * axis[1], f, sigma), -axis[1]};
  unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA { S[i] = fma(c, axis[i], fma(x, first[i], y * second[i])); });
}

template <class Neighbourhood>
class SpinHeatBath {
 public:
  using Real = typename Neighbourhood::Real;
  using Double = LaneReal<double, Neighbourhood::W>;
  explicit SpinHeatBath(const SpinHeatBathCall& call) : call_{call}, around_{call.spins} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const typename Neighbourhood::Bonds bonds = around_.bonds(block);
    for (int slot = 0; slot < around_.slots(); ++slot) draw(bonds, slot);
  }
  TRELLIS_SITE_FN void operator()(int block, int slot) const { draw(around_.bonds(block), slot); }

 private:
  TRELLIS_SITE_FN void draw(const typename Neighbourhood::Bonds& bonds, int slot) const {
    Real field[3], S[3];
    around_.local_field(bonds, slot, field);
    around_.spins().load(bonds.block, slot, S);
    Double h[3], old[3], drawn[3];
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA {
      h[i] = convert_real<double>(field[i]);
      old[i] = convert_real<double>(S[i]);
    });
    const Double square = dot(h, h), length = square_root(square);
    const auto has_field = less(Double(0.0), square);
    // Without a field the axis is that of the old spin: all directions are as likely.
    const Double inverse = Double(1.0) / select(has_field, length, square_root(dot(old, old)));
    Double axis[3];
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA { axis[i] = select(has_field, h[i], old[i]) * inverse; });
    const SiteRandom<Double> random(
        call_.key, RandomPurpose::spin_heatbath, call_.sweep,
        load_integers<Double>(call_.sites + size_t(bonds.block) * Neighbourhood::W));
    draw_spin(Double(call_.betas[slot]) * length, axis, random.uniform_pair(uint32_t(slot)), drawn);
    unroll<3>([&](auto i)
                  TRELLIS_INLINE_LAMBDA { S[i] = convert_real<typename Neighbourhood::Scalar>(drawn[i]); });
    around_.spins().store(bonds.block, slot, S);
  }

  SpinHeatBathCall call_;
  Neighbourhood around_;
};

struct SiteRange;
/// With has_ghosts they serve blocks with neighbours on other ranks.
template <class Layout, class Storage>
void launch_over_relaxation(const SpinCall& call, bool has_ghosts, const SiteRange& blocks_of_one_parity);
template <class Layout, class Storage>
void launch_spin_heat_bath(const SpinHeatBathCall& call, bool has_ghosts,
                           const SiteRange& blocks_of_one_parity);

}  // namespace trellis
