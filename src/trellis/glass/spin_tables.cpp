#include "trellis/glass/spin_tables.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trellis/base/error.hpp"
#include "trellis/lattice/global_sites.hpp"

namespace trellis {

namespace {
constexpr Coord displacement(int leg) {
  Coord d{0, 0, 0, 0};
  d[leg / 2] = leg % 2 == 0 ? 1 : -1;
  return d;
}

bool leads_to_ghost(int32_t entry) { return entry >= 0 && (entry & SiteLayout::ghost_bit) != 0; }
}  // namespace

/// Gives entries that lead to other ranks the form that kernels read: ghost_bit and the block of ghosts where
/// the neighbours of all lanes are one block of them, lane by lane, else ghost_bit and crosses_bit.
void SpinTables::name_ghosts(std::vector<int32_t>& neighbours, const std::vector<int32_t>& places,
                             int blocks) const {
  const int W = layout_->lanes();
  for (int leg = 0; leg < bond_legs; ++leg)
    for (int block = 0; block < blocks; ++block) {
      int32_t& entry = neighbours[size_t(block) * legs + size_t(leg)];
      if (!leads_to_ghost(entry)) continue;
      const int32_t* place = &places[(size_t(leg) * size_t(blocks) + size_t(block)) * size_t(W)];
      bool is_block = (place[0] >> 1) % W == 0;
      for (int lane = 0; lane < W; ++lane) is_block = is_block && place[lane] == ((place[0] + 2 * lane) | 1);
      entry = SiteLayout::ghost_bit |
              (is_block ? (place[0] >> 1) / W << SiteLayout::index_shift : SiteLayout::crosses_bit);
    }
}

SpinTables::SpinTables(SiteLayoutPtr layout, Backend backend)
    : layout_{std::move(layout)}, backend_{backend} {
  const Geometry& geometry = layout_->geometry();
  for (int mu = 0; mu < 3; ++mu) has_ghosts_ = has_ghosts_ || geometry.is_split(mu);
  const Coord& sub = layout_->sub_extents();
  int order[3] = {2, 1, 0};
  std::stable_sort(order, order + 3, [&](int a, int b) { return sub[a] > sub[b]; });
  plane_direction_ = order[0];
  row_direction_ = order[1];
  for (int parity = 0; parity < 2; ++parity)
    halos_[parity] = std::make_shared<SiteHalo>(layout_, HaloShape{}, parity);
  for (int parity = 0; parity < 2; ++parity) build(parity);
  build_phases();
}

void SpinTables::build(int parity) {
  OfParity& of = of_[parity];
  std::vector<int32_t> neighbours = layout_->neighbours(parity);
  std::vector<int32_t> inner, border, coords;
  for (int block = 0; block < layout_->blocks(parity); ++block) {
    bool is_border = false;
    for (int leg = 0; leg < bond_legs; ++leg) {
      const int32_t entry = neighbours[size_t(block) * legs + size_t(leg)];
      is_border = is_border || leads_to_ghost(entry);
    }
    (is_border ? border : inner).push_back(block);
    for (const int x : layout_->coord({parity, block, 0})) coords.push_back(x);
  }
  of.inner.put(std::move(inner), backend_);
  of.border.put(std::move(border), backend_);
  of.coords.put(std::move(coords), backend_);
  of.sites.put(global_sites(*layout_, parity), backend_);
  if (has_ghosts_) {
    std::vector<int32_t> places;
    for (int leg = 0; leg < bond_legs; ++leg) {
      const std::vector<int32_t> of_leg = halos_[1 - parity]->neighbours(parity, displacement(leg));
      places.insert(places.end(), of_leg.begin(), of_leg.end());
    }
    name_ghosts(neighbours, places, layout_->blocks(parity));
    of.places.put(std::move(places), backend_);
  }
  of.neighbours.put(std::move(neighbours), backend_);
  sort_by_plane(parity);
}

/// Lists blocks sample after sample, plane after plane in a sample, and row after row in a plane.
void SpinTables::sort_by_plane(int parity) {
  OfParity& of = of_[parity];
  const int groups = samples_of_lane() * planes() * rows(), blocks = layout_->blocks(parity);
  const auto group = [&](int block) {
    const int32_t* x = &of.coords.host[4 * size_t(block)];
    return (x[3] * planes() + x[plane_direction_]) * rows() + x[row_direction_];
  };
  of.first_of_row.assign(size_t(groups) + 1, 0);
  for (int block = 0; block < blocks; ++block) ++of.first_of_row[size_t(group(block)) + 1];
  for (size_t g = 0; g < size_t(groups); ++g) of.first_of_row[g + 1] += of.first_of_row[g];
  std::vector<int> next(of.first_of_row.begin(), of.first_of_row.end() - 1);
  std::vector<int32_t> sorted(static_cast<size_t>(blocks));
  for (int block = 0; block < blocks; ++block) sorted[size_t(next[size_t(group(block))]++)] = block;
  of.by_plane.put(std::move(sorted), backend_);
}

/// Makes cos and sin of 2 pi x / L for the lanes of each coordinate of the sub-lattice.
void SpinTables::build_phases() {
  const Geometry& geometry = layout_->geometry();
  const int W = layout_->lanes();
  std::vector<double> phases;
  for (int mu = 0; mu < 3; ++mu) {
    phase_offset_[mu] = int(phases.size()) / (2 * W);
    const int sub = layout_->sub_extents()[mu], L = geometry.lattice()[mu];
    for (int x = 0; x < sub; ++x)
      for (int part = 0; part < 2; ++part)
        for (int lane = 0; lane < W; ++lane) {
          const int global = geometry.origin()[mu] + x + sub * layout_->lane_coord(lane)[mu];
          const double angle = 2 * std::numbers::pi * global / L;
          phases.push_back(part == 0 ? std::cos(angle) : std::sin(angle));
        }
  }
  phases_ = Memory(phases.size() * sizeof(double), backend_);  // they are aligned, as lanes are loaded
  phases_.copy_from_host(phases.data(), phases_.bytes());
}

void SpinTables::set_tables(SpinCall& call, int parity) const {
  const OfParity& of = of_[parity];
  call.table = of.neighbours.table.data();
  for (int leg = 0; leg < bond_legs; ++leg)
    call.permutations[leg] = layout_->permutes(leg) ? layout_->permutation(leg) : nullptr;
  call.places = of.places.table.data();
  call.places_of_leg = size_t(layout_->blocks(parity)) * size_t(layout_->lanes());
}

void SpinTables::set_tables(SpinSumsCall& call, int parity) const {
  set_tables(call.around, parity);
  call.coords = of_[parity].coords.table.data();
  call.phases = static_cast<const double*>(phases_.data());
  for (int mu = 0; mu < 3; ++mu) call.phase_offset[mu] = phase_offset_[mu];
  call.sample_lanes = sample_lanes();
}

const int64_t* SpinTables::sites(int parity) const { return of_[parity].sites.table.data(); }

SiteRange SpinTables::of_sample(int parity, int sample) const {
  return entries_of(of_[parity], sample * planes() * rows(), (sample + 1) * planes() * rows());
}

SiteRange SpinTables::rows_of_plane(int parity, int sample, int plane, int first, int end) const {
  const int row = (sample * planes() + plane) * rows();
  return entries_of(of_[parity], row + first, row + end);
}

SiteRange SpinTables::entries_of(const OfParity& of, int first_row, int end_row) {
  SiteRange range = site_range(of.by_plane.table);
  range.begin = of.first_of_row[size_t(first_row)];
  range.end = of.first_of_row[size_t(end_row)];
  return range;
}

}  // namespace trellis
