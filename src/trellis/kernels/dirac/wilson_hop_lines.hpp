#pragma once
/// This file tells the memory that a block of the Wilson hop reads and writes, for walks that bring it nearer
/// before (device/cpu/walk/read_ahead.hpp). Launches give it beside the kernel, which knows nothing of it.
#include "trellis/kernels/dirac/wilson_hop.hpp"

namespace trellis {

/// Calls lines(data, bytes) for each piece of memory.
template <class Layout, class Storage, int LinkReals>
class WilsonHopLines {
 public:
  explicit WilsonHopLines(const WilsonHopCall& call)
      : table_{call.stencil.table},
        links_here_{call.links_here},
        links_there_{call.links_there},
        in_{call.in},
        out_{call.out},
        x_{call.x_term == SiteTerm::none ? RawField{} : call.x},
        clover_{call.clover},
        slots_{size_t(call.slots)} {}

  size_t bytes_of_block() const { return 8 * link_bytes + 8 * slots_ * spinor_bytes; }

  /// The neighbours in x come with the blocks before and after; all links of space of the other parity come
  /// at this block, so that they come in sequence: the next blocks, rows and planes take them as those
  /// behind.
  template <class Lines>
  void reads(int block, const Lines& lines) const {
    lines(links_there_.origin_address(block, 0), 3 * link_bytes);
    for (int mu = 0; mu < 4; ++mu) {
      lines(links_here_.origin_address(block, mu), link_bytes);
      const int32_t behind = entry(block, 2 * mu + 1);
      if (!Stencil::is_ghost(behind))
        lines(links_there_.origin_address(Stencil::index_of(behind), mu), link_bytes);
    }
    for (int leg = 2; leg < 8; ++leg) {
      const int32_t n = entry(block, leg);
      if (!Stencil::is_ghost(n)) lines(in_.origin_address(Stencil::index_of(n), 0), slots_ * spinor_bytes);
    }
    if (!x_.is_null()) lines(x_.origin_address(block, 0), slots_ * spinor_bytes);
    if (!clover_.is_null()) lines(clover_.origin_address(block, 0), clover_bytes);
  }
  template <class Lines>
  void writes(int block, const Lines& lines) const {
    lines(out_.origin_address(block, 0), slots_ * spinor_bytes);
  }

 private:
  static constexpr size_t real_bytes = Layout::lanes * sizeof(typename StorageTraits<Storage>::element);
  static constexpr size_t link_bytes = LinkReals * real_bytes, spinor_bytes = 24 * real_bytes,
                          clover_bytes = 72 * real_bytes;
  using Stencil = StencilView<Layout, typename StorageTraits<Storage>::compute>;

  int32_t entry(int block, int leg) const { return table_[size_t(block) * 8 + size_t(leg)]; }

  const int32_t* table_;
  SiteArray<Layout, Storage, LinkReals> links_here_, links_there_;
  SiteArray<Layout, Storage, 24> in_, out_, x_;
  SiteArray<Layout, Storage, 72> clover_;
  size_t slots_;
};

}  // namespace trellis
