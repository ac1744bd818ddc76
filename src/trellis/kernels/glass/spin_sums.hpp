#pragma once
/// These are summed over the sites of each sample: energies, what the bonds say of equilibrium, overlaps and
/// magnetisations with phases, chiralities (doc/glass.md). Terms are formed in double.
#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/glass/spin_neighbourhood.hpp"

namespace trellis {

struct SpinSumsCall {
  SpinCall around;
  /// [item][2] has the two slots of an item of a pair kernel, [item][1] of one set of spins being unused.
  const int32_t* slots = nullptr;
  int items = 1;
  const int32_t* coords = nullptr;  ///< it has [block][4]: sub-lattice coordinates of the block
  const double* phases = nullptr;   ///< they are cos and sin of 2 pi x / L: [offset[mu] + x][re, im][lane]
  int phase_offset[3] = {};
  int sample_lanes = 1;  ///< the lanes of a block belong to so many samples
};

/// Sums are of these kinds.
enum class SpinSums { energy, bonds, overlap, chirality, magnetisation };
/// Return the numbers of values at a site, and of rows of their sums. Values of sums with phases are [1, cos
/// x, sin x, cos y, sin y, cos z, sin z][value].
constexpr int spin_values(SpinSums kind) {
  switch (kind) {
    case SpinSums::energy:
      return 1;
    case SpinSums::bonds:
    case SpinSums::chirality:
    case SpinSums::magnetisation:
      return 3;
    case SpinSums::overlap:
      return 9;
  }
  return 0;
}
constexpr bool has_phases(SpinSums kind) { return kind != SpinSums::energy && kind != SpinSums::bonds; }
constexpr int spin_sum_rows(SpinSums kind) { return spin_values(kind) * (has_phases(kind) ? 7 : 1); }

/// It has the values of a site of one parity.
///
/// energy: -sum of J S.S' over the six bonds; of the sites of one parity they are all bonds.
/// bonds: (S.S')^2 of the first slot and of the second, and the product of both S.S', likewise.
/// overlap: S_a of the first slot times S_b of the second, [3 a + b].
/// chirality: in each direction the product of both slots' S(x+mu) . (S(x) x S(x-mu)); 0 where the extent
/// is 1. magnetisation: S_a of the first slot.
template <class Neighbourhood, SpinSums kind>
class SpinTerms {
 public:
  using Real = typename Neighbourhood::Real;
  using Double = LaneReal<double, Neighbourhood::W>;
  static constexpr int values = spin_values(kind), rows = spin_sum_rows(kind);
  static constexpr int W = Neighbourhood::W;

  explicit SpinTerms(const SpinSumsCall& call) : call_{call}, around_{call.around} {}

  TRELLIS_SITE_FN void terms(int block, int item, Double (&t)[rows]) const {
    Double v[values];
    const int first = call_.slots[2 * item], second = call_.slots[2 * item + 1];
    if constexpr (kind == SpinSums::energy)
      v[0] = energy(block, first);
    else if constexpr (kind == SpinSums::bonds)
      bonds(block, first, second, v);
    else if constexpr (kind == SpinSums::overlap)
      overlap(block, first, second, v);
    else if constexpr (kind == SpinSums::chirality)
      chirality(block, first, second, v);
    else
      load(block, first, v);
    unroll<values>([&](auto i) TRELLIS_INLINE_LAMBDA { t[i] = v[i]; });
    if constexpr (has_phases(kind))
      for (int mu = 0; mu < 3; ++mu) {
        const double* phase =
            call_.phases +
            size_t(call_.phase_offset[mu] + call_.coords[4 * size_t(block) + size_t(mu)]) * (2 * W);
        const Double re = load_real<Double>(phase), im = load_real<Double>(phase + W);
        for (int i = 0; i < values; ++i) {
          t[values * (1 + 2 * mu) + i] = re * v[i];
          t[values * (2 + 2 * mu) + i] = im * v[i];
        }
      }
  }

 private:
  using Bonds = typename Neighbourhood::Bonds;

  TRELLIS_SITE_FN static void widen(const Real (&from)[3], Double (&to)[3]) {
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA { to[i] = convert_real<double>(from[i]); });
  }
  TRELLIS_SITE_FN void load(int block, int slot, Double (&S)[3]) const {
    Real s[3];
    around_.spins().load(block, slot, s);
    widen(s, S);
  }
  template <int leg>
  TRELLIS_SITE_FN void load_neighbour(const Bonds& b, int slot, Double (&S)[3]) const {
    Real s[3];
    around_.template neighbour<leg>(b, slot, s);
    widen(s, S);
  }

  TRELLIS_SITE_FN Double energy(int block, int slot) const {
    const Bonds b = around_.bonds(block);
    Double S[3], sum(0.0);
    load(block, slot, S);
    unroll<bond_legs>([&](auto leg) TRELLIS_INLINE_LAMBDA {
      if (!Neighbourhood::has_bond(b, leg)) return;
      Double other[3];
      load_neighbour<leg>(b, slot, other);
      sum = fnma(convert_real<double>(b.J[leg]), dot(S, other), sum);
    });
    return sum;
  }
  TRELLIS_SITE_FN void bonds(int block, int first, int second, Double (&v)[3]) const {
    const Bonds b = around_.bonds(block);
    Double S[3], T[3];
    load(block, first, S);
    load(block, second, T);
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA { v[i] = Double(0.0); });
    unroll<bond_legs>([&](auto leg) TRELLIS_INLINE_LAMBDA {
      if (!Neighbourhood::has_bond(b, leg)) return;
      Double other[3];
      load_neighbour<leg>(b, first, other);
      const Double one = dot(S, other);
      load_neighbour<leg>(b, second, other);
      const Double two = dot(T, other);
      v[0] = fma(one, one, v[0]);
      v[1] = fma(two, two, v[1]);
      v[2] = fma(one, two, v[2]);
    });
  }
  TRELLIS_SITE_FN void overlap(int block, int first, int second, Double (&v)[9]) const {
    Double S[3], T[3];
    load(block, first, S);
    load(block, second, T);
    unroll<9>([&](auto i) TRELLIS_INLINE_LAMBDA { v[i] = S[i / 3] * T[i % 3]; });
  }
  template <int mu>
  TRELLIS_SITE_FN Double chirality_of(const Bonds& b, int slot) const {
    Double S[3], up[3], down[3];
    load(b.block, slot, S);
    load_neighbour<2 * mu>(b, slot, up);
    load_neighbour<2 * mu + 1>(b, slot, down);
    Double sum(0.0);
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA {
      constexpr int j = (i + 1) % 3, k = (i + 2) % 3;
      sum = fma(up[i], fnma(S[k], down[j], S[j] * down[k]), sum);
    });
    return sum;
  }
  TRELLIS_SITE_FN void chirality(int block, int first, int second, Double (&v)[3]) const {
    const Bonds b = around_.bonds(block);
    unroll<3>([&](auto mu) TRELLIS_INLINE_LAMBDA {
      v[mu] = Double(0.0);
      if (Neighbourhood::has_bond(b, 2 * mu))
        v[mu] = chirality_of<mu>(b, first) * chirality_of<mu>(b, second);
    });
  }

  SpinSumsCall call_;
  Neighbourhood around_;
};

struct SiteRange;
/// Adds the sums over the listed blocks of one parity to sums[(sample_lane * items + item) * rows + row].
template <class Layout, class Storage>
void launch_spin_sums(SpinSums kind, const SpinSumsCall& call, bool has_ghosts, const SiteRange& blocks,
                      ExactSum* sums);

}  // namespace trellis
