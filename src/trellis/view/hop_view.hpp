#pragma once
/// Hopping kernels of colour vectors see this of the lattice: neighbours at a distance (lattice/hop_stencil)
/// and a phase for every leg.
#include "trellis/algebra/complex.hpp"
#include "trellis/algebra/lane_functions.hpp"
#include "trellis/algebra/unroll.hpp"
#include "trellis/view/vector_access.hpp"

namespace trellis {

struct RawHopStencil {
  const int32_t* table = nullptr;         ///< [block][leg]: index << 3 | moves << 1 | is_ghost
  const int32_t* permutations = nullptr;  ///< [leg][2][16]
};

struct HopNeighbour {
  int index;  ///< it is the block of the neighbour, or of the ghost
  int moves;  ///< its lanes move over so many sub-lattices
  bool is_plain, is_ghost;
};

template <class Layout>
class HopStencilView {
 public:
  static constexpr int W = Layout::lanes;
  HopStencilView() = default;
  explicit HopStencilView(const RawHopStencil& raw) : raw_{raw} {}

  TRELLIS_SITE_FN HopNeighbour neighbour(int block, int leg) const {
    const int32_t entry = table_entry<Layout>(raw_.table, block, leg);
    return {entry >> 3, (entry >> 1) & 3, (entry & 7) == 0, (entry & 1) != 0};
  }
  /// Moves the lanes of an object that consists of reals in a row.
  template <class Real, class Object>
  TRELLIS_SITE_FN void move_lanes(Object& object, int leg, int moves) const {
    if constexpr (W > 1) {
      if (moves == 0) return;
      const int32_t* source = raw_.permutations + (2 * leg + moves - 1) * 16;
      Real* r = reinterpret_cast<Real*>(&object);
      unroll<sizeof(Object) / sizeof(Real)>([&](auto i)
                                                TRELLIS_INLINE_LAMBDA { r[i] = permute(r[i], source); });
    }
  }

 private:
  RawHopStencil raw_;
};

/// These are the factors of the legs of a hop. Few of them differ, so that each leg has the number of a row,
/// and a row has a complex number for each lane.
struct RawPhases {
  const int32_t* index = nullptr;  ///< [block][leg]
  const void* rows = nullptr;      ///< [row][re, im][lane], scalars of the arithmetic
};

template <class Layout, class Scalar>
class PhaseView {
 public:
  static constexpr int W = Layout::lanes;
  using Real = LaneReal<Scalar, W>;
  PhaseView() = default;
  explicit PhaseView(const RawPhases& raw) : index_{raw.index}, rows_{static_cast<const Scalar*>(raw.rows)} {}

  TRELLIS_SITE_FN const Scalar* row(int block, int leg) const {
    return rows_ + size_t(table_entry<Layout>(index_, block, leg)) * (2 * W);
  }
  TRELLIS_SITE_FN static Real real_part(const Scalar* row) { return part<0>(row); }
  TRELLIS_SITE_FN static Real imaginary_part(const Scalar* row) { return part<1>(row); }
  TRELLIS_SITE_FN Complex<Real> phase(int block, int leg) const {
    const Scalar* r = row(block, leg);
    return {real_part(r), imaginary_part(r)};
  }

 private:
  template <int k>
  TRELLIS_SITE_FN static Real part(const Scalar* row) {
    if constexpr (std::is_base_of_v<GpuLayout, Layout>)
      return ElementVector<Scalar, 2>::template load<Access::constant>(row).template get<k>();
    else
      return load_real<Real>(row + k * W);
  }
  const int32_t* index_ = nullptr;
  const Scalar* rows_ = nullptr;
};

}  // namespace trellis
