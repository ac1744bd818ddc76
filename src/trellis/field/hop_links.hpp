#pragma once
/// Links are stored as the hopping kernels want them: even-odd, any storage, 18, 14, 12 or 8 reals.
#include <optional>
#include <vector>

#include "trellis/device/block_stream.hpp"
#include "trellis/field/gauge_field.hpp"

namespace trellis {

/// Returns false for 8 reals in fp16, whose rounding their exponential would magnify.
constexpr bool has_link_storage(Precision precision, int link_reals) {
  return link_reals != 8 || precision != Precision::fp16_precision;
}

/// Says how far links may lie outside SU(3) or U(3) where fewer than 18 reals keep them.
constexpr double group_tolerance(Precision precision) {
  return precision == Precision::double_precision ? 1e-10 : 1e-5;
}

class HopLinks {
 public:
  /// Makes a copy of U. The backend is the host by default. With back_distance d > 0, beside the links of a
  /// site those that lead to it, U_mu(x - d mu), are kept too, so that a hop reads one stream of links
  /// instead of four, from twice the memory; those of other ranks are left out. This is so on the CPU only,
  /// and ignored elsewhere. Links outside SU(3) or U(3) by more than group_tolerance() are refused.
  /// @pre link_reals is 18, or 12 for special unitary links (the third row is rebuilt from the first two), or
  /// 14 for unitary ones (two rows and the determinant), or 8 for special unitary ones
  /// (view/eight_real_links.hpp); has_link_storage()
  HopLinks(const GaugeField& U, Precision precision, int link_reals, Backend backend = {}, int lanes = 0,
           int back_distance = 0);
  /// Takes the links of another field. What they are is not checked again: updates keep links in SU(3).
  /// @pre the same lattice; not 16-bit storage with scales
  /// @throws BadArgument where links are not finite in 16 bits, or rows are longer than 1 in fixed point
  void refill(const GaugeField& U);

  const LatticePtr& lattice_ptr() const { return lattice_; }
  Precision precision() const { return precision_; }
  Backend backend() const { return backend_; }
  int link_reals() const { return link_reals_; }
  const SiteLayout& layout() const { return *layout_; }
  const SiteLayoutPtr& layout_ptr() const { return layout_; }
  RawField raw(int parity) const;
  /// Returns the streams of all directions and both parities, without scales. @pre not on a GPU
  std::vector<BlockStream> streams() const;
  size_t bytes() const { return memory_.bytes(); }

 private:
  void fill(const GaugeField& U);
  void fill_by_kernel(const GaugeField& U);
  template <class Element>
  void fill_blocks(const GaugeField& U);
  int slots() const { return back_distance_ != 0 ? 2 * Nd : Nd; }
  /// Returns the site whose link is in a slot of x, local coordinates, and none where it is another rank's.
  std::optional<Coord> origin(Coord x, int slot) const;
  void build_origins(const ExtendedLayout& from);
  /// Returns the record of a link in the CPU layout (RawField::blocks). A hop reads the links of space of a
  /// block and of blocks that are near, and those of time of a block and of one a time slice before: four
  /// streams.
  size_t record(int block, int mu) const {
    if (back_distance_ != 0) return size_t(2 * Nd) * size_t(block) + size_t(mu);
    return mu < 3 ? 3 * size_t(block) + size_t(mu) : 3 * size_t(layout_->blocks()) + size_t(block);
  }
  LatticePtr lattice_;
  Precision precision_;
  Backend backend_;
  int link_reals_, back_distance_;
  SiteLayoutPtr layout_;
  size_t data_bytes_ = 0, scale_bytes_ = 0;
  Memory memory_;
  /// An entry is block * lanes + lane in U's order, or not_here. The order is [block][lane], or [block][own,
  /// from x, y, z, t][lane] with back links.
  static constexpr int32_t not_here = -1;
  std::vector<int32_t> origins_[2];
};

/// Returns the largest deviation of a link, on any rank, from SU(3): |(U U^dagger - 1)_ij| and |third row -
/// conj(first x second)|. Collective.
double largest_su3_violation(const GaugeField& U);
/// Returns the same deviation from U(3): the phase of the determinant is free.
double largest_u3_violation(const GaugeField& U);
/// Returns 12, or 18 for links that are special unitary to no more than the accuracy of files in 32 bits.
/// Links that are further away get 12 too, whose check refuses them: someone has to say that they are wanted.
/// Collective.
int link_reals_of(const GaugeField& U);

}  // namespace trellis
