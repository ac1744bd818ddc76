#pragma once
/// Blocks of 8 double lanes and of 16 float or 16-bit lanes, the two widths of one machine, are converted
/// here: a block of 16 lanes takes them from two of 8, in an order that is the same for all components.
#include "trellis/view/site_array.hpp"

namespace trellis {

/// The lanes of a block come in another order from block[0] and block[1] of the source, and each lane of the
/// target has its place among the lanes of both. Entries are block * from_lanes + lane.
struct LaneOrigin {
  int block[2];
  alignas(64) int32_t place[max_lanes] = {};

  /// Finds the blocks and the places. Returns false where the lanes come from more than two blocks.
  bool find(const int32_t* origin, int lanes, int from_lanes) {
    block[0] = block[1] = origin[0] / from_lanes;
    for (int i = 0; i < lanes; ++i) {
      const int source = origin[i] / from_lanes;
      if (source != block[0] && block[1] == block[0]) block[1] = source;
      if (source != block[0] && source != block[1]) return false;
      place[i] = origin[i] % from_lanes + (source == block[0] ? 0 : from_lanes);
    }
    return true;
  }
};

/// Makes 16 single lanes from two times 8 double ones, each from its place among both.
TRELLIS_SITE_FN Lanes<float, 16> narrow_lanes(const Lanes<double, 8>& first, const Lanes<double, 8>& second,
                                              const int32_t* place) {
  alignas(64) float both[16];
  convert_lanes<float>(first).store(both);
  convert_lanes<float>(second).store(both + 8);
  return permute(Lanes<float, 16>::load(both), place);
}
/// Makes 8 double lanes from 16 single ones.
TRELLIS_SITE_FN Lanes<double, 8> widen_lanes(const Lanes<float, 16>& from, const int32_t* place) {
  alignas(64) float all[16];
  permute(from, place).store(all);
  return convert_lanes<double>(Lanes<float, 8>::load(all));
}

/// Makes 16 lanes of float (or 16 bit) from two blocks of 8 double lanes.
template <class Storage, int N>
void narrow_block(const SiteArray<CpuLayout<16>, Storage, N>& out, int block,
                  const SiteArray<CpuLayout<8>, double, N>& in, const LaneOrigin& origin, int slot) {
  const Lanes<double, 8> one(1.0);
  Lanes<float, 16> r[N];
  for (int i = 0; i < N; ++i)
    r[i] = narrow_lanes(in.component(origin.block[0], slot, i, one),
                        in.component(origin.block[1], slot, i, one), origin.place);
  out.store(block, slot, r);
}

/// Makes 8 double lanes from one block of 16 lanes.
template <class Storage, int N>
void widen_block(const SiteArray<CpuLayout<8>, double, N>& out, int block,
                 const SiteArray<CpuLayout<16>, Storage, N>& in, const LaneOrigin& origin, int slot) {
  const auto unit = in.load_unit(origin.block[0], slot);
  Lanes<double, 8> r[N];
  for (int i = 0; i < N; ++i) r[i] = widen_lanes(in.component(origin.block[0], slot, i, unit), origin.place);
  out.store(block, slot, r);
}

}  // namespace trellis
