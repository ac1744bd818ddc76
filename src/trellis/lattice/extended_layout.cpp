#include "trellis/lattice/extended_layout.hpp"

#include "trellis/base/error.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {

ExtendedLayout::ExtendedLayout(const Geometry& geometry, int lanes, int width)
    : geometry_{geometry},
      split_{choose_lane_split(geometry, lanes)},
      lanes_{split_.lanes()},
      width_{width},
      permutations_{std::make_unique<Permutations>()} {
  TRELLIS_REQUIRE(width >= 1, "a halo of ", width, " sites");
  require_split_extents(geometry, width + width % 2, message("a halo of ", width, " sites"));
  int64_t blocks = 1;
  for (int mu = 0; mu < Nd; ++mu) {
    sub_[mu] = geometry.local()[mu] / split_.lanes_per_direction[mu];
    halo_[mu] = geometry.is_split(mu) ? width : 0;
    extended_[mu] = sub_[mu] + 2 * halo_[mu];
    blocks *= extended_[mu];
  }
  TRELLIS_REQUIRE(blocks < (int64_t(1) << 29), "local lattice ", to_string(geometry.local()),
                  " is too large for one rank");
  blocks_ = int(blocks);
  build_shifts();
  build_blocks();
}

int ExtendedLayout::block_of(const Coord& sub) const {
  Coord x;
  for (int mu = 0; mu < Nd; ++mu) x[mu] = sub[mu] + halo_[mu];
  return int(site_index(x, extended_));
}

int ExtendedLayout::block_at(const Coord& local) const {
  Coord x;
  for (int mu = 0; mu < Nd; ++mu) x[mu] = local[mu] % sub_[mu];
  return block_of(x);
}

int ExtendedLayout::lane_at(const Coord& local) const {
  Coord c;
  for (int mu = 0; mu < Nd; ++mu) c[mu] = local[mu] / sub_[mu];
  return int(site_index(c, split_.lanes_per_direction));
}

Coord ExtendedLayout::coord(int block, int lane) const {
  Coord x = site_coord(block, extended_);
  const Coord c = lane_coord(lane);
  for (int mu = 0; mu < Nd; ++mu) x[mu] += c[mu] * sub_[mu] - halo_[mu];
  return x;
}

void ExtendedLayout::build_shifts() {
  const Coord& s = split_.lanes_per_direction;
  shift_sums_.resize(size_t(lanes_) * lanes_);
  for (int g = 0; g < 16; ++g)
    for (int lane = 0; lane < 16; ++lane) {
      permutations_->source[g][lane] = 0;
      if (g >= lanes_ || lane >= lanes_) continue;
      const Coord a = lane_coord(g), b = lane_coord(lane);
      Coord sum;
      for (int mu = 0; mu < Nd; ++mu) sum[mu] = (a[mu] + b[mu]) % s[mu];
      permutations_->source[g][lane] = int32_t(site_index(sum, s));
      shift_sums_[size_t(g) * lanes_ + lane] = int32_t(site_index(sum, s));
    }
  for (int leg = 0; leg < 8; ++leg) {
    Coord c{0, 0, 0, 0};
    const int mu = leg / 2;
    c[mu] = (leg % 2 == 0 ? 1 : s[mu] - 1) % s[mu];
    shift_[leg] = int(site_index(c, s));
  }
}

void ExtendedLayout::build_blocks() {
  neighbours_.resize(size_t(blocks_) * 8);
  for (int block = 0; block < blocks_; ++block) {
    const Coord x = site_coord(block, extended_);
    bool is_inner = true;
    int parity = 0;
    for (int mu = 0; mu < Nd; ++mu) {
      is_inner = is_inner && x[mu] >= halo_[mu] && x[mu] < halo_[mu] + sub_[mu];
      parity += x[mu] - halo_[mu];
    }
    if (is_inner) {
      inner_.push_back(block);
      inner_of_[parity & 1].push_back(block);
    }
    for (int leg = 0; leg < 8; ++leg) {
      const int mu = leg / 2;
      Coord y = x;
      y[mu] += leg % 2 == 0 ? 1 : -1;
      const bool outside = y[mu] < 0 || y[mu] >= extended_[mu];
      int32_t& entry = neighbours_[size_t(block) * 8 + leg];
      if (outside && geometry_.is_split(mu)) {
        entry = -1;
        continue;
      }
      y[mu] = (y[mu] + extended_[mu]) % extended_[mu];
      entry = int32_t(site_index(y, extended_)) << 1 | (outside ? 1 : 0);
    }
  }
}

}  // namespace trellis
