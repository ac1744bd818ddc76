#pragma once
/// Launches of a spin glass read this of one rank's part of the lattice: neighbours, ghosts, the samples and
/// the planes that blocks belong to. Bonds lie in x, y and z; the fourth direction counts samples.
#include <vector>

#include "trellis/device/kernel_table.hpp"
#include "trellis/kernels/glass/spin_neighbourhood.hpp"
#include "trellis/kernels/glass/spin_sums.hpp"
#include "trellis/lattice/site_halo.hpp"

namespace trellis {

class SpinTables {
 public:
  SpinTables(SiteLayoutPtr layout, Backend backend);
  SpinTables(const SpinTables&) = delete;
  SpinTables& operator=(const SpinTables&) = delete;

  const SiteLayout& layout() const { return *layout_; }
  /// Returns the ghosts of one parity, which sites of the other one see.
  const SiteHaloPtr& ghosts_of(int parity) const { return halos_[parity]; }
  /// Returns true where ranks cut x, y or z: bonds then lead to other ranks.
  bool has_ghosts() const { return has_ghosts_; }
  /// These functions say how many samples this rank has, which is the first, and in how many groups of lanes
  /// they lie.
  int samples() const { return layout_->geometry().local()[3]; }
  int first_sample() const { return layout_->geometry().origin()[3]; }
  int sample_lanes() const { return layout_->lane_extents()[3]; }
  int samples_of_lane() const { return layout_->sub_extents()[3]; }

  /// Sets the tables of a call for the sites of a parity.
  void set_tables(SpinCall& call, int parity) const;
  void set_tables(SpinSumsCall& call, int parity) const;
  const int32_t* coords(int parity) const { return of_[parity].coords.table.data(); }
  const int64_t* sites(int parity) const;

  SiteRange inner(int parity) const { return site_range(of_[parity].inner.table); }
  SiteRange border(int parity) const { return site_range(of_[parity].border.table); }
  SiteRange all(int parity) const { return SiteRange(layout_->blocks(parity)); }
  /// Returns the blocks of one sample of each lane. @pre sample < samples_of_lane()
  SiteRange of_sample(int parity, int sample) const;

  /// These functions say the directions of planes, and of rows in a plane, for passes of several sweeps:
  /// those with the most of them in a sub-lattice.
  int planes() const { return layout_->sub_extents()[plane_direction_]; }
  int rows() const { return layout_->sub_extents()[row_direction_]; }
  /// Returns rows first .. end - 1 of a plane.
  SiteRange rows_of_plane(int parity, int sample, int plane, int first, int end) const;

 private:
  template <class T>
  struct Table {
    std::vector<T> host;
    KernelTable<T> table;
    void put(std::vector<T> values, Backend backend) {
      host = std::move(values);
      table = KernelTable<T>(host, backend);
    }
  };
  struct OfParity {
    Table<int32_t> neighbours, inner, border, places, coords, by_plane;
    Table<int64_t> sites;
    std::vector<int> first_of_row;  ///< [sample][plane][row] is an entry of by_plane
  };
  void build(int parity);
  void name_ghosts(std::vector<int32_t>& neighbours, const std::vector<int32_t>& places, int blocks) const;
  void sort_by_plane(int parity);
  static SiteRange entries_of(const OfParity& of, int first_row, int end_row);
  void build_phases();

  SiteLayoutPtr layout_;
  Backend backend_;
  SiteHaloPtr halos_[2];
  bool has_ghosts_ = false;
  int plane_direction_ = 2, row_direction_ = 1;
  OfParity of_[2];
  Memory phases_;
  int phase_offset_[3] = {};
};

}  // namespace trellis
