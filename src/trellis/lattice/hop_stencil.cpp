#include "trellis/lattice/hop_stencil.hpp"

#include <map>

#include "trellis/base/error.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {

namespace {
int step_of(int leg, int distance) { return leg % 2 == 0 ? distance : -distance; }

/// Returns floor(a / b) for b > 0.
int floor_divide(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
}  // namespace

HopStencil::HopStencil(SiteLayoutPtr layout, int distance)
    : layout_{std::move(layout)}, distance_{distance}, permutations_{std::make_unique<Permutations>()} {
  TRELLIS_REQUIRE(distance == 1 || distance == 3, "a hop reaches 1 or 3 sites, not ", distance);
  const Geometry& geometry = layout_->geometry();
  require_all_directions(geometry, "a hop of colour vectors");
  require_even_parts(geometry, "a hop of colour vectors");
  for (int mu = 0; mu < Nd; ++mu)
    TRELLIS_REQUIRE(!geometry.is_split(mu) || geometry.local()[mu] > distance, "hops over ", distance,
                    " sites need local extents of at least ", distance + 1,
                    " where ranks split the lattice; the local lattice is ", to_string(geometry.local()));
  build_permutations();
  for (int parity = 0; parity < 2; ++parity) build(parity);
}

void HopStencil::build_permutations() {
  const Coord& s = layout_->lane_extents();
  for (int leg = 0; leg < legs; ++leg)
    for (int moves = 1; moves <= largest_move; ++moves)
      for (int lane = 0; lane < 16; ++lane) {
        int32_t& source = permutations_->source[leg][moves - 1][lane];
        source = 0;
        if (lane >= layout_->lanes()) continue;
        Coord c = layout_->lane_coord(lane);
        const int n = s[leg / 2];
        c[leg / 2] = ((c[leg / 2] + (leg % 2 == 0 ? moves : -moves)) % n + n) % n;
        source = int32_t(site_index(c, s));
      }
}

void HopStencil::build(int parity) {
  const SiteLayout& layout = *layout_;
  const Geometry& geometry = layout.geometry();
  const Coord& sub = layout.sub_extents();
  std::vector<int32_t>& table = table_[parity];
  table.resize(size_t(layout.blocks()) * legs);
  std::vector<int32_t> receivers[legs];
  for (int block = 0; block < layout.blocks(); ++block) {
    bool is_border = false;
    const Coord x = layout.coord({parity, block, 0});  // lane 0 has the coordinates within the sub-lattice
    for (int leg = 0; leg < legs; ++leg) {
      const int mu = leg / 2, target = x[mu] + step_of(leg, distance_);
      const int moves = std::abs(floor_divide(target, sub[mu]));
      TRELLIS_REQUIRE(moves <= largest_move, "a hop over ", distance_, " sites crosses ", moves,
                      " sub-lattices of ", sub[mu], " sites");
      const bool is_ghost = moves > 0 && geometry.is_split(mu);
      Coord y = x;
      y[mu] = target - floor_divide(target, sub[mu]) * sub[mu];
      const int index = is_ghost ? int(receivers[leg].size()) : layout.position(y).block;
      if (is_ghost) receivers[leg].push_back(block);
      const int lane_moves = layout.permutes(leg) && !is_ghost ? moves : 0;
      table[size_t(block) * legs + leg] =
          index << index_shift | lane_moves << moves_shift | (is_ghost ? ghost_bit : 0);
      is_border = is_border || is_ghost;
    }
    (is_border ? border_ : inner_)[parity].push_back(block);
  }
  for (int leg = 0; leg < legs; ++leg) build_face(parity, leg, receivers[leg]);
}

/// Builds one face. Every rank has the same local lattice: the sites that this rank lacks are, in the same
/// order, the ones that the neighbour behind lacks of this rank.
void HopStencil::build_face(int parity, int leg, const std::vector<int32_t>& blocks) {
  const SiteLayout& layout = *layout_;
  const int mu = leg / 2, extent = layout.geometry().local()[mu], W = layout.lanes();
  Face& face = faces_[parity][leg];
  face.ghosts = int(blocks.size());
  std::map<int32_t, std::vector<Delivery>> by_source;
  for (int ghost = 0; ghost < face.ghosts; ++ghost)
    for (int lane = 0; lane < W; ++lane) {
      Coord y = layout.coord({parity, blocks[size_t(ghost)], lane});
      y[mu] += step_of(leg, distance_);
      const bool is_remote = y[mu] < 0 || y[mu] >= extent;
      y[mu] = (y[mu] + extent) % extent;
      const SitePosition source = layout.position(y);
      const int32_t place = int32_t(ghost * W + lane);
      by_source[source.block].push_back({source.lane, is_remote ? int32_t(face.arrivals.size()) : ~place});
      if (is_remote) face.arrivals.push_back(place);
    }
  for (const auto& [block, deliveries] : by_source) {
    face.sources.push_back(block);
    face.first.push_back(int32_t(face.deliveries.size()));
    face.deliveries.insert(face.deliveries.end(), deliveries.begin(), deliveries.end());
  }
  face.first.push_back(int32_t(face.deliveries.size()));
}

}  // namespace trellis
