#pragma once
/// A kernel sees the nearest-neighbour table in this form, with the fermion boundary phases.
#include "trellis/algebra/lane_functions.hpp"
#include "trellis/algebra/unroll.hpp"
#include "trellis/view/vector_access.hpp"

namespace trellis {

struct Neighbour {
  int index;      ///< it is the block of the neighbour, or of the ghost
  bool is_plain;  ///< it lies on this rank, without complex phase and coefficient
  bool is_ghost;  ///< it lies on another rank: its half spinor is in the ghost buffer of the leg
  bool crosses;   ///< it lies across the edge of the sub-lattice: lanes move, phases apply
};

/// Each leg has the lane permutation, and the boundary phase in each lane.
struct StencilLeg {
  const int32_t* permutation = nullptr;  ///< null where the direction is not split over lanes
  const double* phase_re = nullptr;      ///< [max_lanes]; null where the phase is 1 in every lane
  const double* phase_im = nullptr;      ///< null where the phase is real
  double coefficient = 1.0;              ///< it is the factor of the hopping term (anisotropy)
};

template <class Layout, class Scalar>
class StencilView {
 public:
  static constexpr int W = Layout::lanes;
  using Real = LaneReal<Scalar, W>;

  StencilView() = default;
  StencilView(const int32_t* table, const StencilLeg (&legs)[8]) : table_{table} {
    for (int leg = 0; leg < 8; ++leg) {
      permutation_[leg] = W > 1 ? legs[leg].permutation : nullptr;
      has_phase_[leg] = legs[leg].phase_re != nullptr;
      is_complex_[leg] = legs[leg].phase_im != nullptr;
      for (int lane = 0; lane < W; ++lane) {
        phase_re_[leg][lane] = Scalar(has_phase_[leg] ? legs[leg].phase_re[lane] : 1.0);
        phase_im_[leg][lane] = Scalar(is_complex_[leg] ? legs[leg].phase_im[lane] : 0.0);
      }
      has_coefficient_[leg] = legs[leg].coefficient != 1.0;
      special_[leg] = 2 | (is_complex_[leg] ? 1 : 0) | (has_coefficient_[leg] ? 4 : 0);
      coefficient_[leg] = Scalar(legs[leg].coefficient);
    }
  }

  TRELLIS_SITE_FN Neighbour neighbour(int block, int leg) const {
    const int32_t entry = table_entry<Layout, 4>(table_, block, leg);
    return {index_of(entry), (((entry & 3) | 4) & special_[leg]) == 0, is_ghost(entry), (entry & 1) != 0};
  }
  /// An entry of the table says by itself: the block of the neighbour or of the ghost, and which it is.
  TRELLIS_SITE_FN static int index_of(int32_t entry) { return entry >> 2; }
  TRELLIS_SITE_FN static bool is_ghost(int32_t entry) { return (entry & 2) != 0; }

  /// Moves lanes of a local neighbour that crosses the edge. Object consists of Numbers in a row.
  template <class Number = Real, class Object>
  TRELLIS_SITE_FN void move_lanes(Object& object, int leg) const {
    if constexpr (W > 1) {
      if (permutation_[leg] == nullptr) return;
      Number* r = reinterpret_cast<Number*>(&object);
      unroll<sizeof(Object) / sizeof(Number)>(
          [&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = permute(r[i], permutation_[leg]); });
    }
  }

  /// Multiplies with the boundary phase of a crossing leg, lane by lane.
  template <class Object>
  TRELLIS_SITE_FN void apply_phase(Object& object, int leg) const {
    if (!is_complex_[leg]) return apply_real_phase(object, leg);
    Real* r = reinterpret_cast<Real*>(&object);
    const Real re = load_real<Real>(phase_re_[leg]);
    const Real im = load_real<Real>(phase_im_[leg]);
    for (int i = 0; i < int(sizeof(Object) / sizeof(Real)); i += 2) {
      const Real x = r[i], y = r[i + 1];
      r[i] = fnma(im, y, re * x);
      r[i + 1] = fma(im, x, re * y);
    }
  }

  /// Does the same where the phase is known to be real.
  template <class Object>
  TRELLIS_SITE_FN void apply_real_phase(Object& object, int leg) const {
    if (!has_phase_[leg]) return;
    Real* r = reinterpret_cast<Real*>(&object);
    const Real re = load_real<Real>(phase_re_[leg]);
    unroll<sizeof(Object) / sizeof(Real)>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = re * r[i]; });
  }

  /// Multiplies with the coefficient of the leg's hopping term.
  template <class Object>
  TRELLIS_SITE_FN void apply_coefficient(Object& object, int leg) const {
    if (!has_coefficient_[leg]) return;
    Real* r = reinterpret_cast<Real*>(&object);
    const Real c(coefficient_[leg]);
    unroll<sizeof(Object) / sizeof(Real)>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = c * r[i]; });
  }

  TRELLIS_SITE_FN const int32_t* entries(int block) const { return table_ + size_t(block) * 8; }

 private:
  const int32_t* table_ = nullptr;
  int32_t special_[8] = {};  ///< bits of an entry (4: always set) that make a leg other than plain
  const int32_t* permutation_[8] = {};
  bool has_phase_[8] = {}, is_complex_[8] = {}, has_coefficient_[8] = {};
  alignas(64) Scalar phase_re_[8][W] = {};
  alignas(64) Scalar phase_im_[8][W] = {};
  Scalar coefficient_[8] = {};
};

}  // namespace trellis
