#pragma once
/// A site exchange moves listed sites from fields to ghosts, between ranks and within one: every halo of
/// stored numbers is made with it. Messages, buffers and tables are made once; there is one message to each
/// neighbouring rank and one from it.
#include <vector>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/halo_messages.hpp"
#include "trellis/kernels/halo/site_halo.hpp"
#include "trellis/lattice/halo_plan.hpp"

namespace trellis {

/// This says what a site holds, and which of its slots move.
struct SiteObjects {
  Backend backend{};
  Precision precision = Precision::double_precision;
  int lanes = 1, reals = 1;
  int first_slot = 0, slots = 1;
  int first_ghost_slot = 0;
};

class SiteExchange {
 public:
  /// Prepares messages, buffers and tables. Collective. @pre the plan is one of the geometry's, which is that
  /// of the communicator
  SiteExchange(HaloPlan plan, const SiteObjects& objects, const Geometry& geometry,
               Communicator& communicator);
  SiteExchange(const SiteExchange&) = delete;
  SiteExchange& operator=(const SiteExchange&) = delete;

  /// Sends sites of the arrays that places of the plan name, and copies those that stay on this rank. Ghosts
  /// may change from here on.
  void start(const RawField& first, const RawField& second, const RawField& ghosts);
  /// Waits for the messages; the ghosts are then complete.
  void finish();

  int messages() const { return int(peers_.size()); }  ///< counts those sent in one exchange
  size_t bytes_sent() const { return bytes_sent_; }    ///< counts those sent in one exchange

 private:
  struct Peer {
    KernelTable<int32_t> sends, receives;
  };
  SiteHaloCall call() const;
  void pack();
  /// Returns the sites that the message of a peer fills. @pre it has come
  SiteHaloList received(int peer) const;
  HaloPlan plan_;
  SiteObjects objects_;
  std::vector<Peer> peers_;
  std::vector<SiteHaloList> lists_;  ///< launches take these; it has room for all
  KernelTable<int32_t> own_sites_, own_ghosts_;
  HaloMessages messages_;
  bool is_connected_;
  size_t bytes_sent_ = 0;
  RawField sites_[2], ghosts_;  ///< the exchange under way has these
};

}  // namespace trellis
