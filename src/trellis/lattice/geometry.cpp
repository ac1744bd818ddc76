#include "trellis/lattice/geometry.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "trellis/base/error.hpp"

namespace trellis {

ProcessGrid::ProcessGrid(const Coord& extents, std::vector<int> rank_at)
    : extents_{extents}, rank_at_{std::move(rank_at)} {
  for (int mu = 0; mu < Nd; ++mu)
    TRELLIS_REQUIRE(extents[mu] >= 1, "process grid ", to_string(extents), " has an extent below 1");
  const size_t n = size_t(product(extents));
  if (rank_at_.empty()) {
    rank_at_.resize(n);
    std::iota(rank_at_.begin(), rank_at_.end(), 0);
  }
  TRELLIS_REQUIRE(rank_at_.size() == n, "rank map has ", rank_at_.size(), " entries, the grid ",
                  to_string(extents), " needs ", n);
  index_of_.assign(n, -1);
  for (size_t i = 0; i < n; ++i) {
    const int r = rank_at_[i];
    TRELLIS_REQUIRE(r >= 0 && size_t(r) < n && index_of_[r] == -1, "rank map is not a permutation: entry ", i,
                    " is ", r);
    index_of_[r] = int(i);
  }
}

int ProcessGrid::rank_of(Coord coord) const {
  for (int mu = 0; mu < Nd; ++mu) coord[mu] = (coord[mu] % extents_[mu] + extents_[mu]) % extents_[mu];
  return rank_at_[site_index(coord, extents_)];
}

Coord ProcessGrid::coord_of(int rank) const {
  TRELLIS_REQUIRE(rank >= 0 && rank < size(), "rank ", rank, " is not in a grid of ", size());
  return site_coord(index_of_[rank], extents_);
}

namespace {
/// Even local extents from here on have room for every stencil, that of three links of HISQ included.
constexpr int room_for_three_links = 4;

bool is_legal_extent(int extent) { return extent == 1 || (extent >= 2 && extent % 2 == 0); }

bool is_legal(int extent, int parts, int min_split_extent, LocalExtents kind) {
  if (!is_legal_extent(extent) || extent % parts != 0) return false;
  if (parts == 1) return true;
  const int local = extent / parts;
  return local >= min_split_extent && (kind == LocalExtents::any || local % 2 == 0);
}
}  // namespace

std::string legal_grids_in_words(const Coord& lattice, int ranks) {
  const auto grids = legal_process_grids(lattice, ranks, 2);
  if (grids.empty()) return message("no grid of ", ranks, " ranks can cut ", to_string(lattice));
  std::string text = message("legal grids of ", ranks, ranks == 1 ? " rank:" : " ranks:");
  for (size_t i = 0; i < grids.size() && i < 12; ++i) text += " " + to_string(grids[i]);
  return grids.size() > 12 ? text + message(" and ", grids.size() - 12, " more") : text;
}

std::vector<Coord> legal_process_grids(const Coord& lattice, int ranks, int min_split_extent,
                                       LocalExtents local) {
  std::vector<Coord> grids;
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; ranks % x == 0 && y <= ranks / x; ++y)
      for (int z = 1; ranks / x % y == 0 && z <= ranks / x / y; ++z) {
        if (ranks / x / y % z != 0) continue;
        const Coord g{x, y, z, ranks / x / y / z};
        bool legal = true;
        for (int mu = 0; mu < Nd; ++mu)
          legal = legal && is_legal(lattice[mu], g[mu], min_split_extent, local);
        if (legal) grids.push_back(g);
      }
  return grids;
}

Coord choose_process_grid(const Coord& lattice, int ranks, int min_split_extent) {
  auto grids = legal_process_grids(lattice, ranks, std::max(min_split_extent, room_for_three_links));
  if (grids.empty()) grids = legal_process_grids(lattice, ranks, min_split_extent);
  if (grids.empty()) {
    std::string legal;
    for (int n = 1; n <= 4 * ranks && n <= 4096; ++n)
      if (!legal_process_grids(lattice, n, min_split_extent).empty())
        legal += (legal.empty() ? "" : ", ") + std::to_string(n);
    if (legal.empty())  // one rank, at least, takes all others
      throw BadArgument(message("lattice ", to_string(lattice), ": extents must be even, or 1"));
    throw BadArgument(message("lattice ", to_string(lattice), " cannot be cut over ", ranks,
                              " ranks with even local extents of at least ", min_split_extent,
                              "; rank counts that can: ", legal));
  }
  int64_t best_surface = std::numeric_limits<int64_t>::max();
  Coord best = grids.front();
  for (const Coord& g : grids) {
    int64_t surface = 0;
    const int64_t local_volume = product(lattice) / ranks;
    for (int mu = 0; mu < Nd; ++mu)
      if (g[mu] > 1) surface += local_volume / (lattice[mu] / g[mu]);
    const bool cuts_later = std::lexicographical_compare(best.rbegin(), best.rend(), g.rbegin(), g.rend());
    if (surface < best_surface || (surface == best_surface && cuts_later)) {
      best_surface = surface;
      best = g;
    }
  }
  return best;
}

namespace {
/// Returns the box of `ranks` processes within the grid that has the least surface to other boxes; zeros if
/// none fits.
Coord choose_node_box(const Coord& lattice, const Coord& grid, int ranks) {
  Coord best{0, 0, 0, 0};
  double least = std::numeric_limits<double>::max();
  Coord box;
  for (box[0] = 1; box[0] <= grid[0]; ++box[0])
    for (box[1] = 1; box[1] <= grid[1]; ++box[1])
      for (box[2] = 1; box[2] <= grid[2]; ++box[2])
        for (box[3] = 1; box[3] <= grid[3]; ++box[3]) {
          if (product(box) != ranks) continue;
          double surface = 0;
          bool fits = true;
          for (int mu = 0; mu < Nd; ++mu) {
            fits = fits && grid[mu] % box[mu] == 0;
            if (grid[mu] > box[mu]) surface += double(grid[mu]) / (double(lattice[mu]) * box[mu]);
          }
          if (fits && surface < least) {
            least = surface;
            best = box;
          }
        }
  return best;
}
}  // namespace

ProcessGrid group_by_node(const Coord& lattice, const Coord& grid, const std::vector<int>& nodes) {
  std::map<int, std::vector<int>> ranks_of;  // each node has its ranks, in their order
  for (size_t rank = 0; rank < nodes.size(); ++rank) ranks_of[nodes[rank]].push_back(int(rank));
  if (int64_t(nodes.size()) != product(grid) || ranks_of.size() <= 1) return ProcessGrid(grid);
  const size_t per_node = ranks_of.begin()->second.size();
  for (const auto& [node, ranks] : ranks_of)
    if (ranks.size() != per_node) return ProcessGrid(grid);
  const Coord box = choose_node_box(lattice, grid, int(per_node));
  if (box[0] == 0) return ProcessGrid(grid);
  Coord boxes;
  for (int mu = 0; mu < Nd; ++mu) boxes[mu] = grid[mu] / box[mu];
  std::vector<int> rank_at(nodes.size());
  int64_t at = 0;
  for (const auto& [node, ranks] : ranks_of) {
    const Coord first = site_coord(at++, boxes);
    for (size_t k = 0; k < ranks.size(); ++k) {
      Coord coord = site_coord(int64_t(k), box);
      for (int mu = 0; mu < Nd; ++mu) coord[mu] += first[mu] * box[mu];
      rank_at[size_t(site_index(coord, grid))] = ranks[k];
    }
  }
  return ProcessGrid(grid, std::move(rank_at));
}

Geometry::Geometry(const Coord& lattice, ProcessGrid grid, int rank, const Boundary& boundary)
    : lattice_{lattice}, grid_{std::move(grid)}, boundary_{boundary}, rank_{rank} {
  rank_coord_ = grid_.coord_of(rank);
  for (int mu = 0; mu < Nd; ++mu) {
    TRELLIS_REQUIRE(is_legal_extent(lattice[mu]), "lattice extent ", lattice[mu], " in direction ",
                    "xyzt"[mu], " must be even, or 1");
    const int parts = grid_.extents()[mu];
    if (!is_legal(lattice[mu], parts, 1, LocalExtents::any))
      throw BadArgument(message("lattice extent ", lattice[mu], " in direction ", "xyzt"[mu],
                                " cannot be cut into ", parts, " equal parts; ",
                                legal_grids_in_words(lattice, grid_.size())));
    local_[mu] = lattice[mu] / parts;
    origin_[mu] = rank_coord_[mu] * local_[mu];
  }
  constexpr double largest = 1 << 30;  // sites, blocks and their neighbours are counted with 32 bits
  const double local_sites = double(local_[0]) * local_[1] * local_[2] * local_[3];
  TRELLIS_REQUIRE(local_sites <= largest, "lattice ", to_string(lattice), " has ", local_sites,
                  " sites a rank, at most ", largest, " are possible: more ranks are needed");
}

int Geometry::rank_at(const Coord& steps) const {
  Coord c = rank_coord_;
  for (int mu = 0; mu < Nd; ++mu) c[mu] += steps[mu];
  return grid_.rank_of(c);
}

int Geometry::neighbour_rank(int mu, int step) const {
  Coord c = rank_coord_;
  c[mu] += step;
  return grid_.rank_of(c);
}

bool Geometry::at_boundary(int mu, int step) const {
  return rank_coord_[mu] == (step > 0 ? grid_.extents()[mu] - 1 : 0);
}

bool Geometry::owns(const Coord& global) const {
  for (int mu = 0; mu < Nd; ++mu)
    if (global[mu] < origin_[mu] || global[mu] >= origin_[mu] + local_[mu]) return false;
  return true;
}

Coord Geometry::to_local(const Coord& global) const {
  Coord x;
  for (int mu = 0; mu < Nd; ++mu) x[mu] = global[mu] - origin_[mu];
  return x;
}

Coord Geometry::to_global(const Coord& local) const {
  Coord x;
  for (int mu = 0; mu < Nd; ++mu) x[mu] = local[mu] + origin_[mu];
  return x;
}

bool Geometry::operator==(const Geometry& other) const {
  return lattice_ == other.lattice_ && grid_ == other.grid_ && rank_ == other.rank_ &&
         boundary_ == other.boundary_;
}

}  // namespace trellis
