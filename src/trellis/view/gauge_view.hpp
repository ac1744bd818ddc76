#pragma once
/// Links of all sites are reached with free movement: a Position steps in any direction, and links are loaded
/// where it stands, with lanes moved as the steps demand.
#include "trellis/view/ask_ahead.hpp"
#include "trellis/view/structured.hpp"

namespace trellis {

/// A position is where a kernel stands: a block, and the displacement of its lanes (0: none).
struct Position {
  int block;
  int shift;
};

/// Views take these tables of an extended layout.
struct ExtendedTables {
  const int32_t* neighbours = nullptr;    ///< [block][leg]: block << 1 | crosses
  const int32_t* shift_sums = nullptr;    ///< [shift][lanes]
  const int32_t* permutations = nullptr;  ///< [shift][16]
  int shift[8] = {};
};

template <class Layout, class Storage, int N = 18>
class GaugeView {
 public:
  using Array = SiteArray<Layout, Storage, N>;
  using Real = typename Array::Real;
  static constexpr int W = Layout::lanes;

  GaugeView(const RawField& raw, const ExtendedTables& tables)
      : array_{raw}, tables_{tables}, blocks_ahead_{raw.blocks_ahead} {}

  TRELLIS_SITE_FN Position at(int block) const { return {block, 0}; }
  /// Returns the neighbour of p in direction mu, for the step +1 or -1.
  TRELLIS_SITE_FN Position step(Position p, int mu, int step) const {
    const int leg = 2 * mu + (step > 0 ? 0 : 1);
    const int32_t entry = table_entry<Layout>(tables_.neighbours, p.block, leg);
    if (W > 1 && (entry & 1)) p.shift = tables_.shift_sums[p.shift * W + tables_.shift[leg]];
    p.block = entry >> 1;
    return p;
  }
  TRELLIS_SITE_FN ColorMatrix<Real> link(Position p, int mu) const {
    static_assert(N == 18);
    if (blocks_ahead_ != 0) ask_for<link_bytes>(array_.origin_address(p.block + blocks_ahead_, mu));
    ColorMatrix<Real> U = load_object<ColorMatrix<Real>, Array, Real, N>(array_, p.block, mu);
    if constexpr (W > 1) {
      if (p.shift != 0) {
        Real* r = reinterpret_cast<Real*>(&U);
        for (int i = 0; i < N; ++i) r[i] = permute(r[i], tables_.permutations + 16 * p.shift);
      }
    }
    return U;
  }
  /// @pre p is not displaced
  TRELLIS_SITE_FN void store(int block, int mu, const ColorMatrix<Real>& U) const {
    store_object<ColorMatrix<Real>, Array, Real, N>(array_, block, mu, U);
  }

 private:
  static constexpr size_t link_bytes = size_t(N) * W * sizeof(typename Array::Element);
  Array array_;
  ExtendedTables tables_;
  int blocks_ahead_;
};

}  // namespace trellis
