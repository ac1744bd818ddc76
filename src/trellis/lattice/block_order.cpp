#include "trellis/lattice/block_order.hpp"

#include "trellis/base/error.hpp"
#include "trellis/lattice/aggregates.hpp"

namespace trellis {

namespace {
const Coord& checked(const Geometry& geometry, const Coord& block) {
  const std::string error = block_order_error(geometry, block);
  TRELLIS_REQUIRE(error.empty(), error);
  return block;
}
Coord blocks_of_rank(const Geometry& geometry, const Coord& block) {
  Coord grid = geometry.local();
  for (int mu = 0; mu < Nd; ++mu) grid[mu] /= block[mu];
  return grid;
}
}  // namespace

std::string block_order_error(const Geometry& geometry, const Coord& block) {
  const std::string error = block_error(geometry, block);
  if (!error.empty()) return error;
  for (const int extent : block)
    if (extent % 2 != 0)
      return message("Schwarz blocks of ", to_string(block), " have an odd extent; expected even ones");
  return {};
}

BlockOrder::BlockOrder(const Geometry& geometry, const Coord& block, int lanes)
    : geometry_{geometry},
      inner_{Geometry(checked(geometry, block)), lanes},
      grid_{blocks_of_rank(geometry, block)} {
  const auto origin_of = [&](const Coord& at) {
    Coord x = at;
    for (int mu = 0; mu < Nd; ++mu) x[mu] *= block[mu];
    return x;
  };
  const auto colour_of = [&](const Coord& at) {
    Coord global = geometry_.to_global(origin_of(at));
    for (int mu = 0; mu < Nd; ++mu) global[mu] /= block[mu];
    return site_parity(global);
  };
  const int count = int(product(grid_));
  std::vector<int32_t> number(static_cast<size_t>(count));
  for (int colour = 0; colour < 2; ++colour) {
    for (int i = 0; i < count; ++i) {
      const Coord at = site_coord(i, grid_);
      if (colour_of(at) != colour) continue;
      number[size_t(i)] = int32_t(origins_.size());
      origins_.push_back(origin_of(at));
      for (int leg = 0; leg < legs; ++leg)
        if (geometry_.is_split(leg / 2) && at[leg / 2] == (leg % 2 == 0 ? grid_[leg / 2] - 1 : 0))
          faces_[colour][leg].push_back(number[size_t(i)]);
    }
    first_[colour + 1] = int(origins_.size());
  }
  neighbours_.resize(size_t(count) * legs);
  int ghosts[2][legs] = {};
  for (int i = 0; i < count; ++i)  // this is the order of a colour's faces
    for (int leg = 0; leg < legs; ++leg) {
      const int mu = leg / 2;
      Coord at = site_coord(i, grid_);
      const int colour = colour_of(at);
      at[mu] += leg % 2 == 0 ? 1 : -1;
      const bool leaves = at[mu] < 0 || at[mu] == grid_[mu];
      at[mu] = (at[mu] + grid_[mu]) % grid_[mu];
      neighbours_[size_t(number[size_t(i)]) * legs + size_t(leg)] =
          leaves && geometry_.is_split(mu) ? ~int32_t(ghosts[colour][leg]++)
                                           : number[size_t(site_index(at, grid_))];
    }
}

Coord BlockOrder::coord(int parity, int vector, int lane) const {
  Coord x = inner_.coord({parity, vector % inner_.blocks(), lane});
  const Coord& from = origin(vector / inner_.blocks());
  for (int mu = 0; mu < Nd; ++mu) x[mu] += from[mu];
  return x;
}

bool BlockOrder::is_at_boundary(int block, int leg) const {
  const int mu = leg / 2;
  const int x = geometry_.to_global(origin(block))[mu];
  return leg % 2 == 0 ? x + this->block()[mu] == geometry_.lattice()[mu] : x == 0;
}

std::vector<int32_t> BlockOrder::number_in_edge(int parity, int leg) const {
  std::vector<int32_t> number(size_t(inner_.blocks()), -1);
  const std::vector<int32_t>& vectors = edge(parity, leg);
  for (size_t i = 0; i < vectors.size(); ++i) number[size_t(vectors[i])] = int32_t(i);
  return number;
}

std::vector<int32_t> BlockOrder::in_order_of_sites(int parity) const {
  std::vector<int32_t> order;
  for (int64_t i = 0; i < product(block()); ++i) {
    const SitePosition at = inner_.position(site_coord(i, block()));
    if (at.parity == parity) order.push_back(int32_t(at.block * lanes() + at.lane));
  }
  return order;
}

}  // namespace trellis
