#include "trellis/lattice/site_layout.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

SiteLayout::SiteLayout(const Geometry& geometry, int lanes)
    : geometry_{geometry},
      split_{choose_lane_split(geometry, lanes)},
      lanes_{split_.lanes()},
      origin_parity_{site_parity(geometry.origin())} {
  for (int mu = 0; mu < Nd; ++mu) sub_[mu] = geometry.local()[mu] / split_.lanes_per_direction[mu];
  const int64_t blocks = (product(sub_) + 1) / 2;
  TRELLIS_REQUIRE(blocks < (int64_t(1) << 28), "local lattice ", to_string(geometry.local()),
                  " is too large for one rank: ", blocks, " blocks");
  blocks_of_[origin_parity_] = int(blocks);
  blocks_of_[1 - origin_parity_] = int(product(sub_) / 2);
  build_permutations();
  build_faces();
  for (int parity = 0; parity < 2; ++parity) build_neighbours(parity);
}

/// Returns the block: sites 2 k and 2 k + 1 of the lexicographic order are of different parity, whichever
/// extents are odd.
int SiteLayout::block_of(const Coord& sub) const { return int(site_index(sub, sub_) / 2); }

Coord SiteLayout::sub_coord(int parity, int block) const {
  Coord x = site_coord(2 * int64_t(block), sub_);
  if ((site_parity(x) ^ origin_parity_) == parity) return x;
  if (x[0] + 1 == sub_[0]) return site_coord(2 * int64_t(block) + 1, sub_);
  ++x[0];
  return x;
}

SitePosition SiteLayout::position(const Coord& local) const {
  Coord sub, lane;
  for (int mu = 0; mu < Nd; ++mu) {
    lane[mu] = local[mu] / sub_[mu];
    sub[mu] = local[mu] % sub_[mu];
  }
  return {site_parity(local) ^ origin_parity_, block_of(sub),
          int(site_index(lane, split_.lanes_per_direction))};
}

Coord SiteLayout::coord(const SitePosition& at) const {
  Coord x = sub_coord(at.parity, at.block);
  const Coord lane = lane_coord(at.lane);
  for (int mu = 0; mu < Nd; ++mu) x[mu] += lane[mu] * sub_[mu];
  return x;
}

bool SiteLayout::leaves_rank(int leg, int lane) const {
  const int mu = leg / 2;
  return lane_coord(lane)[mu] == (leg % 2 == 0 ? split_.lanes_per_direction[mu] - 1 : 0);
}

void SiteLayout::build_permutations() {
  const Coord& s = split_.lanes_per_direction;
  for (int leg = 0; leg < legs; ++leg)
    for (int lane = 0; lane < 16; ++lane) {
      if (lane >= lanes_) {
        permutation_[leg].source[lane] = 0;
        continue;
      }
      Coord c = lane_coord(lane);
      const int mu = leg / 2;
      c[mu] = (c[mu] + (leg % 2 == 0 ? 1 : s[mu] - 1)) % s[mu];
      permutation_[leg].source[lane] = int32_t(site_index(c, s));
    }
}

void SiteLayout::build_faces() {
  for (int parity = 0; parity < 2; ++parity)
    for (int block = 0; block < blocks_of_[parity]; ++block) {
      const Coord x = sub_coord(parity, block);
      for (int leg = 0; leg < legs; ++leg)
        if (x[leg / 2] == (leg % 2 == 0 ? sub_[leg / 2] - 1 : 0)) faces_[parity][leg].push_back(block);
    }
}

void SiteLayout::build_neighbours(int parity) {
  auto& table = neighbours_[parity];
  table.resize(size_t(blocks_of_[parity]) * legs);
  int ghosts[legs] = {};
  for (int block = 0; block < blocks_of_[parity]; ++block) {
    bool is_border = false;
    for (int leg = 0; leg < legs; ++leg) {
      const int mu = leg / 2;
      if (geometry_.lattice()[mu] == 1) {
        table[size_t(block) * legs + leg] = -1;
        continue;
      }
      Coord x = sub_coord(parity, block);
      const bool crosses = x[mu] == (leg % 2 == 0 ? sub_[mu] - 1 : 0);
      x[mu] = (x[mu] + (leg % 2 == 0 ? 1 : sub_[mu] - 1)) % sub_[mu];
      const bool is_ghost = crosses && geometry_.is_split(mu);
      const int index = is_ghost ? ghosts[leg]++ : block_of(x);
      table[size_t(block) * legs + leg] =
          index << index_shift | (is_ghost ? ghost_bit : 0) | (crosses ? crosses_bit : 0);
      is_border = is_border || is_ghost;
    }
    (is_border ? border_ : inner_)[parity].push_back(block);
  }
}

}  // namespace trellis
