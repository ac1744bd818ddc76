#include "trellis/lattice/site_halo.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
constexpr int largest_width = 3;

/// Returns whether places are those of whole blocks, lane by lane.
bool are_blocks(const std::vector<int32_t>& places, int lanes) {
  if (places.size() % size_t(lanes) != 0) return false;
  for (size_t i = 0; i < places.size(); ++i) {
    const int32_t first = places[i - i % size_t(lanes)];
    if ((first >> 1) % lanes != 0 || places[i] != first + 2 * int32_t(i % size_t(lanes))) return false;
  }
  return true;
}
}  // namespace

SiteHalo::SiteHalo(SiteLayoutPtr layout, HaloShape shape, int parity)
    : layout_{std::move(layout)}, shape_{shape}, parity_{parity} {
  TRELLIS_REQUIRE(shape.width >= 1 && shape.width <= largest_width, "a halo is 1 to ", largest_width,
                  " sites wide, not ", shape.width);
  TRELLIS_REQUIRE(parity >= -1 && parity <= 1, "parity ", parity, " of a halo is not -1 (both), 0 or 1");
  const Geometry& geometry = layout_->geometry();
  double sites = 1;
  for (int mu = 0; mu < Nd; ++mu) {
    const bool has_wall = geometry.boundary()[mu] == Edge::wall && geometry.lattice()[mu] > 1;
    halo_[mu] = geometry.is_split(mu) || has_wall ? shape.width : 0;
    extended_[mu] = geometry.local()[mu] + 2 * halo_[mu];
    sites *= extended_[mu];
  }
  TRELLIS_REQUIRE(sites < (1 << 30), "local lattice ", to_string(geometry.local()),
                  " is too large for one rank with a halo of ", shape.width, " sites");
  build();
}

bool SiteHalo::is_ghost(const Coord& x) const {
  int out = 0;
  for (int mu = 0; mu < Nd; ++mu) out += leads_out(mu, x[mu]) ? 1 : 0;
  return out == 1 || (out > 1 && shape_.corners);
}

void SiteHalo::build() {
  const Geometry& geometry = layout_->geometry();
  const int W = layout_->lanes(), origin_parity = site_parity(geometry.origin());
  HaloPlanBuilder builder(geometry);
  const auto place = [&](const Coord& y) {
    const SitePosition at = layout_->position(y);
    const bool is_wanted = parity_ < 0 || at.parity == parity_;
    return is_wanted ? HaloPlace::of(parity_ < 0 ? at.parity : 0, at.block, W, at.lane) : -1;
  };
  numbers_.assign(size_t(product(extended_)), -1);
  for (const Coord& x : sites_around()) {
    Coord global = geometry.to_global(x);
    const bool exists = resolve(global, geometry.lattice(), geometry.boundary()) != SiteKind::none;
    if (exists && (parity_ < 0 || (site_parity(x) ^ origin_parity) == parity_)) {
      number_at(x) = int32_t(coords_.size());
      coords_.push_back(x);
    }
    const int ghost = number_at(x);
    builder.add(x, ghost < 0 ? -1 : HaloPlace::of(0, ghost / W, W, ghost % W), place);
  }
  plan_ = builder.take();
  plan_.is_in_blocks = W > 1;
  for (int mu = 0; mu < Nd; ++mu)
    if (geometry.is_split(mu)) plan_.is_in_blocks = plan_.is_in_blocks && layout_->lane_extents()[mu] == 1;
  for (const auto& [rank, lists] : plan_.peers)
    TRELLIS_REQUIRE(!plan_.is_in_blocks || (are_blocks(lists.sends, W) && are_blocks(lists.receives, W)),
                    "a message with rank ", rank, " has parts of blocks");
}

/// Lists all ghosts that a rank may have, one side of the lattice after the other, and the ghosts of a side
/// in the order of blocks and lanes of the sites of this rank that are nearest to them: the ghosts beside a
/// block lie in one block, then, if no lanes divide the direction that leads to them.
std::vector<Coord> SiteHalo::sites_around() const {
  const Coord& local = layout_->geometry().local();
  const Coord &sub = layout_->sub_extents(), &lanes = layout_->lane_extents();
  struct Site {
    int64_t side, distance, in_sub_lattice, lane;
    Coord x;
    auto key() const { return std::tie(side, distance, in_sub_lattice, lane); }
  };
  std::vector<Site> sites;
  for (int64_t i = 0; i < product(extended_); ++i) {
    Site site{0, 0, 0, 0, site_coord(i, extended_)};
    for (int mu = 0; mu < Nd; ++mu) site.x[mu] -= halo_[mu];
    if (!is_ghost(site.x)) continue;
    Coord in_sub_lattice, lane;
    for (int mu = Nd - 1; mu >= 0; --mu) {
      const int x = site.x[mu], nearest = std::clamp(x, 0, local[mu] - 1);
      site.side = 3 * site.side + (x < nearest ? 1 : x > nearest ? 2 : 0);
      site.distance = (largest_width + 1) * site.distance + std::abs(x - nearest);
      in_sub_lattice[mu] = nearest % sub[mu];
      lane[mu] = nearest / sub[mu];
    }
    site.in_sub_lattice = site_index(in_sub_lattice, sub);
    site.lane = site_index(lane, lanes);
    sites.push_back(site);
  }
  std::sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) { return a.key() < b.key(); });
  std::vector<Coord> found;
  for (const Site& site : sites) found.push_back(site.x);
  return found;
}

int32_t& SiteHalo::number_at(Coord x) {
  for (int mu = 0; mu < Nd; ++mu) x[mu] += halo_[mu];
  return numbers_[size_t(site_index(x, extended_))];
}

SiteHalo::Site SiteHalo::find(Coord local) const {
  const Geometry& geometry = layout_->geometry();
  const Coord& extents = geometry.local();
  Coord global = geometry.to_global(local);
  if (resolve(global, geometry.lattice(), geometry.boundary()) == SiteKind::none) return {};
  bool is_inner = true;
  Coord in_box;
  for (int mu = 0; mu < Nd; ++mu) {
    if (halo_[mu] == 0) local[mu] = (local[mu] % extents[mu] + extents[mu]) % extents[mu];
    is_inner = is_inner && !leads_out(mu, local[mu]);
    in_box[mu] = local[mu] + halo_[mu];
  }
  if (is_inner) return {Kind::inner, layout_->position(local), -1};
  bool is_in_box = true;
  for (int mu = 0; mu < Nd; ++mu) is_in_box = is_in_box && in_box[mu] >= 0 && in_box[mu] < extended_[mu];
  const int ghost = is_in_box ? numbers_[size_t(site_index(in_box, extended_))] : -1;
  TRELLIS_REQUIRE(ghost >= 0, "the site at the local coordinates ", local[0], ", ", local[1], ", ", local[2],
                  ", ", local[3], " lies beyond a halo of width ", shape_.width,
                  shape_.corners ? " with corners" : " without corners", " around ", to_string(extents));
  return {Kind::ghost, {0, 0, 0}, ghost};
}

std::vector<int32_t> SiteHalo::neighbours(int parity, const Coord& displacement) const {
  const int W = layout_->lanes();
  std::vector<int32_t> table(size_t(layout_->blocks(parity)) * size_t(W));
  for (int block = 0; block < layout_->blocks(parity); ++block)
    for (int lane = 0; lane < W; ++lane) {
      Coord x = layout_->coord({parity, block, lane});
      for (int mu = 0; mu < Nd; ++mu) x[mu] += displacement[mu];
      const Site site = find(x);
      table[size_t(block * W + lane)] = site.kind == Kind::none    ? -1
                                        : site.kind == Kind::ghost ? site.ghost << 1 | 1
                                                                   : (site.at.block * W + site.at.lane) << 1;
    }
  return table;
}

}  // namespace trellis
