#pragma once
/// This kernel does what fifth_dimension.hpp does, for GPUs and an Ls that is known when it is compiled: a
/// thread takes the numbers of one 16-byte vector on all slices of a site, and keeps them in registers, so
/// that each is read once and written once. The members of a team are the vectors of a site; in fixed point
/// they agree on its scale.
#include "trellis/kernels/dirac/fifth_dimension.hpp"
#include "trellis/view/gpu_vectors.hpp"
#include "trellis/view/team.hpp"

namespace trellis {

template <class Storage, int Ls>
class FifthDimensionInTeams {
 public:
  using Spinors = GpuVectors<Storage, 24>;
  using Real = typename Spinors::Real;
  using Vector = typename Spinors::Vector;
  static constexpr int width = Spinors::width;
  static constexpr bool is_half = Spinors::is_half;
  /// Two teams share a site in double, since more of them fit onto a multiprocessor than of twice the size.
  static constexpr int teams = is_half ? 1 : (Spinors::count + 5) / 6, members = Spinors::count / teams;
  static constexpr int steps = is_half ? 2 : 1;
  /// It has y, then z, then out of all slices.
  struct State {
    Real z[Ls][width];
  };

  explicit FifthDimensionInTeams(const FifthDimensionCall& call)
      : out_{call.out},
        in_{call.in},
        x_{call.x},
        is_dagger_{call.is_dagger},
        has_x_{call.has_x},
        has_recursion_{call.coefficients.has_recursion},
        has_product_{call.coefficients.has_product} {
    gather_coefficients(coefficients_, call, [](std::complex<double> z) { return Real(z.real()); });
  }

  static int slots(int rhs) { return teams * rhs; }
  size_t shared_bytes() const { return is_half ? sizeof(float) * members * Ls * sites_of_team : 0; }

  /// The slot is right-hand side * teams + team.
  template <int step>
  TRELLIS_SITE_FN void work(State& state, int block, int slot, TeamPlace place) const {
    const int rhs = slot / teams;
    place.member += slot % teams * members;  // it is the number of the vector
    if constexpr (step == 0) {
      load(state, block, rhs * Ls, place);
      go_on(state, block, rhs, place);
    } else {
      store_scaled(state, block, rhs, place);
    }
  }

  /// Does what follows the loading of y; the member of the place is the number of the vector. In fixed point
  /// store_scaled() comes after it, once all vectors of the site are there.
  TRELLIS_SITE_FN void go_on(State& state, int block, int rhs, const TeamPlace& place) const {
    Real end[width];
    unroll<groups>([&](auto g) TRELLIS_INLINE_LAMBDA { recur<g>(state, end, place.member); });
    combine(state, end, block, rhs * Ls, place);
  }
  TRELLIS_SITE_FN void store_scaled(const State& state, int block, int rhs, const TeamPlace& place) const {
    unroll<Ls>([&](auto s) TRELLIS_INLINE_LAMBDA {
      float largest = 0.0f;
      unroll<members>([&](auto member) TRELLIS_INLINE_LAMBDA {
        largest = larger_magnitude(largest, *largest_of(place, member, s));
      });
      // All members store the same scale.
      const Real inverse = out_.store_scale(block, rhs * Ls + s, largest);
      out_.store(block, rhs * Ls + s, place.member, Spinors::packed(inverse, state.z[s]));
    });
  }

 private:
  /// The numbers of a vector have one chirality, or those of each half have one: they are 0 to 11 and 12
  /// to 23.
  static constexpr int group = width < 4 ? width : 4, groups = width / group;

  TRELLIS_SITE_FN static int chirality_of(int member, int g) { return (width * member + group * g) / 12; }
  /// Returns true if number i is slice i, false if it is slice Ls - 1 - i.
  TRELLIS_SITE_FN bool is_rising(int chirality) const { return (chirality == 0) != is_dagger_; }
  TRELLIS_SITE_FN static float* largest_of(const TeamPlace& place, int member, int s) {
    return static_cast<float*>(place.shared) + (member * Ls + s) * sites_of_team + place.site;
  }

  TRELLIS_SITE_FN void load(State& state, int block, int first, const TeamPlace& place) const {
    Vector y[Ls];
    unroll<Ls>([&](auto s) TRELLIS_INLINE_LAMBDA { y[s] = in_.load(block, first + s, place.member); });
    unroll<Ls>([&](auto s)
                   TRELLIS_INLINE_LAMBDA { Spinors::unpack(y[s], in_.unit(block, first + s), state.z[s]); });
  }

  /// Computes z of a group of numbers in the place of y, and z_{N-1}.
  template <int g>
  TRELLIS_SITE_FN void recur(State& state, Real (&end)[width], int member) const {
    const int chirality = chirality_of(member, g);
    if (is_rising(chirality)) return recur_along<g, true>(state, end, chirality);
    recur_along<g, false>(state, end, chirality);
  }
  template <int g, bool rises>
  TRELLIS_SITE_FN void recur_along(State& state, Real (&end)[width], int chirality) const {
    if (has_recursion_) {
      if (has_product_)
        recur_in_order<g, rises, true>(state, chirality);
      else
        recur_in_order<g, rises, false>(state, chirality);
    }
    unroll<group>([&](auto k) TRELLIS_INLINE_LAMBDA {
      end[group * g + k] = state.z[rises ? Ls - 1 : 0][group * g + k];
    });
  }
  /// Computes z_i = p_i y_i + r_i y_{i-1} + q_i z_{i-1}.
  template <int g, bool rises, bool has_product>
  TRELLIS_SITE_FN void recur_in_order(State& state, int chirality) const {
    Real last[group], before[group];
    unroll<group>([&](auto k) TRELLIS_INLINE_LAMBDA {
      last[k] = Real(0);
      before[k] = state.z[rises ? Ls - 1 : 0][group * g + k];
    });
    unroll<Ls>([&](auto i) TRELLIS_INLINE_LAMBDA {
      constexpr int s = rises ? int(i) : Ls - 1 - i;
      const Real(&c)[6] = coefficients_[chirality][i];
      unroll<group>([&](auto k) TRELLIS_INLINE_LAMBDA {
        Real& number = state.z[s][group * g + k];
        const Real y = number;
        Real sum = c[0] * y;
        if constexpr (has_product) sum = fma(c[1], before[k], sum);
        before[k] = y;
        number = last[k] = fma(c[2], last[k], sum);
      });
    });
  }

  TRELLIS_SITE_FN void combine(State& state, const Real (&end)[width], int block, int first,
                               const TeamPlace& place) const {
    if (has_x_) return combine_slices<true>(state, end, block, first, place);
    combine_slices<false>(state, end, block, first, place);
  }
  /// Computes x_i + a_i z_i + b_i z_{i-1} + c_i z_{N-1} slice by slice, and stores it unless it is to get a
  /// scale first. In place is allowed: all of y has been read.
  template <bool has_x>
  TRELLIS_SITE_FN void combine_slices(State& state, const Real (&end)[width], int block, int first,
                                      const TeamPlace& place) const {
    constexpr int ahead = has_x ? (Ls < 6 ? Ls : 6) : 1;
    Vector x[ahead];
    if constexpr (has_x)
      unroll<ahead>([&](auto s) TRELLIS_INLINE_LAMBDA { x[s] = x_.load(block, first + s, place.member); });
    Real previous[width];  // it is z of the slice before
    unroll<width>([&](auto k) TRELLIS_INLINE_LAMBDA { previous[k] = end[k]; });
    unroll<Ls>([&](auto s) TRELLIS_INLINE_LAMBDA {
      Real out[width];
      if constexpr (has_x) {
        Spinors::unpack(x[s % ahead], x_.unit(block, first + s), out);
        if constexpr (s + ahead < Ls) x[s % ahead] = x_.load(block, first + s + ahead, place.member);
      }
      unroll<groups>([&](auto g) TRELLIS_INLINE_LAMBDA {
        const int chirality = chirality_of(place.member, g);
        const bool rises = is_rising(chirality);
        const Real(&c)[6] = coefficients_[chirality][rises ? int(s) : Ls - 1 - s];
        unroll<group>([&](auto in_group) TRELLIS_INLINE_LAMBDA {
          constexpr int k = group * g + in_group;
          const Real here = state.z[s][k];
          Real next;
          if constexpr (s + 1 < Ls)
            next = state.z[s + 1][k];
          else
            next = end[k];
          Real sum;
          if constexpr (has_x)
            sum = fma(c[3], here, out[k]);
          else
            sum = c[3] * here;
          out[k] = fma(c[5], end[k], fma(c[4], rises ? previous[k] : next, sum));
          previous[k] = here;
        });
      });
      leave(state, out, s, block, first, place);
    });
  }
  /// Stores the numbers of slice s, or keeps them and shows the largest to the other members.
  template <class Slice>
  TRELLIS_SITE_FN void leave(State& state, const Real (&out)[width], Slice s, int block, int first,
                             const TeamPlace& place) const {
    if constexpr (is_half) {
      float largest = 0.0f;
      unroll<width>([&](auto k) TRELLIS_INLINE_LAMBDA {
        largest = larger_magnitude(largest, out[k]);
        state.z[s][k] = out[k];
      });
      *largest_of(place, place.member, s) = largest;
    } else {
      out_.store(block, first + s, place.member, Spinors::packed(Real(1), out));
    }
  }

  Spinors out_, in_, x_;
  bool is_dagger_, has_x_, has_recursion_, has_product_;
  /// They are zero beyond the slices: all of it travels to a GPU.
  Real coefficients_[2][largest_Ls][6] = {};
};

}  // namespace trellis
