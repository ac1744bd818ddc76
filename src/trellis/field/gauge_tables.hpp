#pragma once
/// Kernels of a backend need this of the site order of gauge fields; the tables and exchanges of halos are
/// shared by all fields of a lattice with that order.
#include <map>
#include <memory>
#include <mutex>

#include "trellis/device/own_table.hpp"
#include "trellis/field/halo/site_exchange.hpp"
#include "trellis/lattice/extended_layout.hpp"
#include "trellis/view/gauge_view.hpp"

namespace trellis {

/// Links are stored with so many reals, and so are the links of a site.
inline constexpr int reals_per_link = 18, gauge_reals = Nd * reals_per_link;

class GaugeTables {
 public:
  /// @pre the layout has one lane for Backend::cuda
  GaugeTables(ExtendedLayoutPtr layout, Backend backend);

  Backend backend() const { return backend_; }
  const ExtendedLayoutPtr& layout() const { return layout_; }
  /// Returns how many blocks lie in memory: on a GPU these are whole warps.
  int stored_blocks() const;
  ExtendedTables views() const;
  SiteRange inner() const { return site_range(inner_); }
  SiteRange inner(int parity) const { return site_range(inner_of_[parity]); }
  /// Returns [block][lane]: the index in the whole lattice, which keys random numbers. It is made at the
  /// first call.
  const int64_t* global_sites() const;

  /// Lists the blocks of the inner sites with x_mu = 0 on this rank, x fastest, where kernels read them. It
  /// is made at the first call.
  SiteRange first_of_lines(int mu) const;

  /// An exchange moves so many layers of the halo, corners included, of these directions' links and these
  /// sites.
  struct HaloPart {
    int layers, first_link, links;
    int parity;  ///< -1 takes both
    Precision precision;
    auto operator<=>(const HaloPart&) const = default;
  };
  /// Fills the ghosts of links; what it needs is made at the first call for a part. Collective.
  void exchange(const RawField& links, const HaloPart& part, Communicator& communicator) const;

 private:
  ExtendedLayoutPtr layout_;
  Backend backend_;
  KernelTable<int32_t> neighbours_, inner_, inner_of_[2];
  mutable std::mutex mutex_;
  mutable OwnTable<int64_t> global_sites_;
  mutable OwnTable<int32_t> first_of_lines_[Nd];
  mutable std::map<HaloPart, std::unique_ptr<SiteExchange>> exchanges_;
};

using GaugeTablesPtr = std::shared_ptr<const GaugeTables>;

}  // namespace trellis
