#pragma once
/// This kernel is the Wilson hop of all slices and what domain walls do along the fifth dimension (T H psi,
/// or x + T H psi) in one launch, for GPUs: a member of a team computes the hop of S slices of a site with
/// the links in registers, leaves it in shared memory as it would be stored, and then takes vectors of all
/// slices. It saves a field written and read. All rounding is that of the two kernels one after the other.
#include "trellis/kernels/dirac/fifth_dimension_in_teams.hpp"
#include "trellis/kernels/dirac/wilson_hop.hpp"

namespace trellis {

template <class Layout, class Storage, int LinkReals, int Ls, int S>
class HopThenFifth {
 public:
  using Hop = WilsonHop<Layout, Storage, LinkReals>;
  using Fifth = FifthDimensionInTeams<Storage, Ls>;
  using Spinors = typename Fifth::Spinors;
  using Real = typename Spinors::Real;
  using Vector = typename Spinors::Vector;
  using State = typename Fifth::State;
  static_assert(Ls % S == 0);
  static constexpr bool is_half = Spinors::is_half;
  static constexpr int members = Ls / S, steps = is_half ? 3 : 2;
  static_assert(!is_half || members >= Spinors::count, "members take one vector each to the end");

  /// @pre the hop has no x, clover term and scalar
  HopThenFifth(const WilsonHopCall& hop, const FifthDimensionCall& fifth) : hop_{hop}, fifth_{fifth} {}

  size_t shared_bytes() const { return scales_begin + (is_half ? scales_bytes + fifth_.shared_bytes() : 0); }

  template <int step>
  TRELLIS_SITE_FN void work(State& state, int block, int rhs, TeamPlace place) const {
    if constexpr (step == 0) {
      Spinor<Real> sum[S];
      hop_.add_all_legs(sum, block, rhs * Ls + S * place.member);
      unroll<S>([&](auto k) TRELLIS_INLINE_LAMBDA { leave(sum[k], S * place.member + k, place); });
    } else if constexpr (step == 1) {
      TRELLIS_GPU_LOOP for (TeamPlace at = place; at.member < Spinors::count; at.member += members) {
        read(state, at);
        fifth_.go_on(state, block, rhs, behind_scales(at));
      }
    } else {
      if (place.member < Spinors::count) fifth_.store_scaled(state, block, rhs, behind_scales(place));
    }
  }

 private:
  static constexpr size_t scales_begin = size_t(Spinors::count) * Ls * sites_of_team * sizeof(Vector);
  static constexpr size_t scales_bytes = size_t(Ls) * sites_of_team * sizeof(float);

  TRELLIS_SITE_FN static void* vector_of(const TeamPlace& place, int s, int k) {
    return static_cast<char*>(place.shared) +
           size_t((s * Spinors::count + k) * sites_of_team + place.site) * sizeof(Vector);
  }
  TRELLIS_SITE_FN static float& scale_of(const TeamPlace& place, int s) {
    void* const scales = static_cast<char*>(place.shared) + scales_begin;
    return static_cast<float*>(scales)[s * sites_of_team + place.site];
  }
  TRELLIS_SITE_FN static TeamPlace behind_scales(const TeamPlace& place) {
    return {place.site, place.member, static_cast<char*>(place.shared) + scales_begin + scales_bytes};
  }

  /// Leaves slice s of the hop as it would be stored.
  TRELLIS_SITE_FN static void leave(const Spinor<Real>& sum, int s, const TeamPlace& place) {
    const auto number = [&](auto k) TRELLIS_INLINE_LAMBDA {
      const Complex<Real>& z = sum.s[k / 6].c[k / 2 % 3];
      return k % 2 == 0 ? z.re : z.im;
    };
    Real inverse(1);
    if constexpr (is_half) {
      float largest = 0.0f;
      unroll<24>([&](auto k) TRELLIS_INLINE_LAMBDA { largest = larger_magnitude(largest, number(k)); });
      scale_of(place, s) = largest;
      inverse = Spinors::inverse_of(largest);
    }
    unroll<Spinors::count>([&](auto v) TRELLIS_INLINE_LAMBDA {
      Real r[Spinors::width];
      unroll<Spinors::width>([&](auto i) TRELLIS_INLINE_LAMBDA {
        r[i] = number(std::integral_constant<int, Spinors::width * v + i>{});
      });
      Spinors::write_shared(vector_of(place, s, v), Spinors::packed(inverse, r));
    });
  }
  TRELLIS_SITE_FN static void read(State& state, const TeamPlace& place) {
    unroll<Ls>([&](auto s) TRELLIS_INLINE_LAMBDA {
      Real unit(1);
      if constexpr (is_half) unit = scale_of(place, s) * (1.0f / fixed_point_full_scale(24));
      Spinors::unpack(Spinors::read_shared(vector_of(place, s, place.member)), unit, state.z[s]);
    });
  }

  Hop hop_;
  Fifth fifth_;
};

struct SiteRange;
/// Does what launch_wilson_hop and then launch_fifth_dimension do, in the faster way. Returns false, and does
/// nothing, where only two launches can. It is there for GPUs.
template <class Layout, class Storage>
bool launch_hop_then_fifth(const WilsonHopCall& hop, const FifthDimensionCall& fifth, const SiteRange& sites);

}  // namespace trellis
