#include "trellis/field/halo/site_exchange.hpp"

#include "trellis/device/launches.hpp"
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
  lists_.reserve(peers_.size() + 1);
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
  lists_.clear();
  for (size_t i = 0; i < peers_.size(); ++i)
    lists_.push_back(
        {peers_[i].sends.data(), nullptr, messages_.send_buffer(int(i)), int(peers_[i].sends.size())});
  if (own_sites_.size() > 0)
    lists_.push_back({own_sites_.data(), own_ghosts_.data(), nullptr, int(own_sites_.size())});
  dispatch(objects_.backend, objects_.precision, objects_.lanes,
           [&]<class Layout, class Storage>() { launch_site_halo_pack<Layout, Storage>(call(), lists_); });
}

void SiteExchange::start(const RawField& first, const RawField& second, const RawField& ghosts) {
  sites_[0] = first;
  sites_[1] = second;
  ghosts_ = ghosts;
  if (!is_connected_ && own_sites_.size() > 0) pack();
  if (!is_connected_) return;
  messages_.start([this] { pack(); });
}

SiteHaloList SiteExchange::received(int peer) const {
  const KernelTable<int32_t>& places = peers_[size_t(peer)].receives;
  return {nullptr, places.data(), messages_.receive_buffer(peer), int(places.size())};
}

void SiteExchange::finish() {
  if (!is_connected_) return;
  lists_.clear();
  dispatch(objects_.backend, objects_.precision, objects_.lanes, [&]<class Layout, class Storage>() {
    if (launches_can_be_cut(objects_.backend))
      messages_.finish([this](int peer) {
        const SiteHaloList list = received(peer);
        launch_site_halo_unpack<Layout, Storage>(call(), {&list, 1});
      });
    else
      messages_.finish_together([this] {
        for (int peer = 0; peer < messages(); ++peer) lists_.push_back(received(peer));
        launch_site_halo_unpack<Layout, Storage>(call(), lists_);
      });
  });
}

}  // namespace trellis
