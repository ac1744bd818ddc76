#include "trellis/field/halo/site_exchange.hpp"

#include "trellis/field/storage/dispatch.hpp"

namespace trellis {

namespace {
/// Messages of one exchange are told apart by the ranks that they link.
constexpr int message_tag = 0;
}  // namespace

SiteExchange::SiteExchange(HaloPlan plan, const SiteObjects& objects, const Geometry& geometry,
                           Communicator& communicator)
    : plan_{std::move(plan)},
      objects_{objects},
      own_sites_{plan_.own_sites, objects.backend},
      own_ghosts_{plan_.own_ghosts, objects.backend},
      messages_{objects.backend},
      is_connected_{communicator.size() > 1} {
  peers_.reserve(plan_.peers.size());
  for (const auto& [rank, lists] : plan_.peers) {
    const size_t bytes = site_halo_bytes(lists.longer_way(), objects_.slots, objects_.reals,
                                         element_bytes(objects_.precision), scale_bytes(objects_.precision));
    bytes_sent_ += bytes;
    peers_.push_back({{lists.sends, objects_.backend}, {lists.receives, objects_.backend}});
    messages_.add(rank, rank, message_tag, bytes);
  }
  if (is_connected_)
    messages_.connect(communicator, geometry, objects_.slots, element_bytes(objects_.precision));
}

SiteHaloCall SiteExchange::call() const {
  SiteHaloCall call;
  call.sites[0] = sites_[0];
  call.sites[1] = sites_[1];
  call.ghosts = ghosts_;
  call.first_slot = objects_.first_slot;
  call.slots = objects_.slots;
  call.first_ghost_slot = objects_.first_ghost_slot;
  call.reals = objects_.reals;
  call.is_in_blocks = plan_.is_in_blocks;
  return call;
}

void SiteExchange::pack() {
  SiteHaloCall call = this->call();
  dispatch(objects_.backend, objects_.precision, objects_.lanes, [&]<class Layout, class Storage>() {
    for (size_t i = 0; i < peers_.size(); ++i) {
      call.from = peers_[i].sends.data();
      call.count = int(peers_[i].sends.size());
      call.message = messages_.send_buffer(int(i));
      launch_site_halo_pack<Layout, Storage>(call, SiteRange(call.count));
    }
    call.from = own_sites_.data();
    call.to = own_ghosts_.data();
    call.message = nullptr;
    launch_site_halo_copy<Layout, Storage>(call, SiteRange(int(own_sites_.size())));
  });
}

void SiteExchange::start(const RawField& first, const RawField& second, const RawField& ghosts) {
  sites_[0] = first;
  sites_[1] = second;
  ghosts_ = ghosts;
  if (!is_connected_ && own_sites_.size() > 0) pack();
  if (!is_connected_) return;
  messages_.start([this] { pack(); });
}

void SiteExchange::finish() {
  if (!is_connected_) return;
  SiteHaloCall call = this->call();
  dispatch(objects_.backend, objects_.precision, objects_.lanes, [&]<class Layout, class Storage>() {
    messages_.finish([this, &call](int peer) {
      call.to = peers_[size_t(peer)].receives.data();
      call.count = int(peers_[size_t(peer)].receives.size());
      call.message = messages_.receive_buffer(peer);
      launch_site_halo_unpack<Layout, Storage>(call, SiteRange(call.count));
    });
  });
}

}  // namespace trellis
