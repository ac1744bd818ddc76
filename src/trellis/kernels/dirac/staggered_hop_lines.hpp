#pragma once
/// This file tells the memory that a block of the staggered hop reads and writes, for walks that bring it
/// nearer before (device/cpu/walk/read_ahead.hpp). Launches give it beside the kernel, which knows nothing of
/// it.
#include "trellis/kernels/dirac/staggered_hop.hpp"

namespace trellis {

/// Calls lines(data, bytes) for each piece of memory of the links and neighbours of one distance.
template <class Layout, class Storage, int LinkReals>
class HopPartLines {
 public:
  explicit HopPartLines(const HopPart& part)
      : stencil_{part.stencil},
        here_{part.links_here},
        there_{part.links_there},
        has_back_links_{part.links_here.slots == 8} {}

  static constexpr size_t link_bytes =
      LinkReals * Layout::lanes * sizeof(typename StorageTraits<Storage>::element);

  /// The neighbours in x come with the blocks before and after; links of space of the other parity come in
  /// sequence (as for the Wilson hop).
  template <class Vectors, class Lines>
  void reads(const Vectors& in, size_t bytes_of_vectors, int block, const Lines& lines) const {
    if (has_back_links_) {
      lines(here_.origin_address(block, 0), 8 * link_bytes);
    } else {
      lines(there_.origin_address(block, 0), 3 * link_bytes);
      for (int mu = 0; mu < 4; ++mu) lines(here_.origin_address(block, mu), link_bytes);
    }
    for (int leg = 1; leg < 8; ++leg) {
      const HopNeighbour n = stencil_.neighbour(block, leg);
      if (n.is_ghost) continue;
      if (!has_back_links_ && leg % 2 != 0) lines(there_.origin_address(n.index, leg / 2), link_bytes);
      if (leg > 1) lines(in.origin_address(n.index, 0), bytes_of_vectors);
    }
  }

 private:
  HopStencilView<Layout> stencil_;
  SiteArray<Layout, Storage, LinkReals> here_, there_;
  bool has_back_links_;
};

template <class Layout, class Storage, int NearReals, int FarReals>
class StaggeredHopLines {
 public:
  explicit StaggeredHopLines(const StaggeredHopCall& call)
      : near_{call.near},
        far_{call.far},
        in_{call.in},
        out_{call.out},
        x_{call.x_scalar == 0 ? RawField{} : call.x},
        bytes_of_vectors_{size_t(call.slots) * 6 * Layout::lanes *
                          sizeof(typename StorageTraits<Storage>::element)} {}

  /// Links ask so far ahead by themselves.
  static constexpr int blocks_ahead = HopLegLinks<Layout, Storage, NearReals>::blocks_ahead;

  size_t bytes_of_block() const {
    const size_t near = 8 * near_.link_bytes + 7 * bytes_of_vectors_;
    return FarReals == 0 ? near : near + 8 * far_.link_bytes + 7 * bytes_of_vectors_;
  }
  template <class Lines>
  void reads(int block, const Lines& lines) const {
    near_.reads(in_, bytes_of_vectors_, block, lines);
    if constexpr (FarReals != 0) far_.reads(in_, bytes_of_vectors_, block, lines);
    if (!x_.is_null()) lines(x_.origin_address(block, 0), bytes_of_vectors_);
  }
  template <class Lines>
  void writes(int block, const Lines& lines) const {
    lines(out_.origin_address(block, 0), bytes_of_vectors_);
  }

 private:
  HopPartLines<Layout, Storage, NearReals> near_;
  HopPartLines<Layout, Storage, FarReals == 0 ? 18 : FarReals> far_;
  SiteArray<Layout, Storage, 6> in_, out_, x_;
  size_t bytes_of_vectors_;
};

}  // namespace trellis
