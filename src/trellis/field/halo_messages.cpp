#include "trellis/field/halo_messages.hpp"

#include <utility>

#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/field/halo_observer.hpp"

namespace trellis {

namespace {
Messages messages_of(const MergedParts& parts) {
  Messages messages;
  for (const HaloPart& m : parts.messages) messages.push_back({m.peer, m.tag, nullptr, m.bytes});
  return messages;
}

std::function<void(HaloStep)>& observer() {
  static std::function<void(HaloStep)> of_all;
  return of_all;
}
}  // namespace

void observe_halos(std::function<void(HaloStep)> of_all) { observer() = std::move(of_all); }
void tell_halo_observer(HaloStep step) {
  if (observer()) observer()(step);
}

HaloMessages::HaloMessages(Backend backend) : backend_{backend} {}

HaloMessages::~HaloMessages() = default;

int HaloMessages::add(int to, int from, int tag, size_t bytes) {
  TRELLIS_REQUIRE(transport_ == nullptr, "a message is added to a halo exchange that is connected");
  sends_.push_back({to, tag, bytes});
  receives_.push_back({from, tag, bytes});
  return int(sends_.size()) - 1;
}

void HaloMessages::connect(Communicator& communicator, const Geometry& geometry, int columns,
                           size_t scalar_bytes, bool is_of_hop) {
  sent_ = merge_parts(sends_);
  received_ = merge_parts(receives_);
  parts_of_.resize(received_.messages.size());
  for (size_t part = 0; part < receives_.size(); ++part)
    parts_of_[size_t(received_.places[part].message)].push_back(int(part));
  transport_ = make_transport(communicator, messages_of(sent_), messages_of(received_),
                              {backend_, &geometry, columns, scalar_bytes, is_of_hop});
}

void* HaloMessages::send_buffer(int part) {
  const MergedParts::Place place = sent_.places[size_t(part)];
  return static_cast<char*>(transport_->outgoing(place.message)) + place.offset;
}

void* HaloMessages::receive_buffer(int part) const {
  const MergedParts::Place place = received_.places[size_t(part)];
  return static_cast<char*>(transport_->incoming(place.message)) + place.offset;
}

void HaloMessages::start(const std::function<void()>& pack) {
  tell_halo_observer(HaloStep::begins);
  transport_->start(pack);
  tell_halo_observer(HaloStep::is_sent);
}

bool HaloMessages::has_arrived(int part) const {
  return transport_->has_arrived(received_.places[size_t(part)].message);
}

void HaloMessages::finish(const std::function<void(int part)>& unpack) {
  tell_halo_observer(HaloStep::is_wanted);
  // A std::function with one address asks for no memory.
  struct {
    const HaloMessages& messages;
    const std::function<void(int)>& unpack;
    bool has_come;
  } halo{*this, unpack, false};
  transport_->wait_each([&halo](int message) {
    if (!std::exchange(halo.has_come, true)) tell_halo_observer(HaloStep::has_come);
    for (const int part : halo.messages.parts_of_[size_t(message)]) halo.unpack(part);
  });
  tell_halo_observer(HaloStep::is_unpacked);
}

bool HaloMessages::has_flags() const { return transport_->way() == TransportWay::fused; }

HaloFlags HaloMessages::begin_with_flags(std::span<const int> leg_of_part) {
  TRELLIS_REQUIRE(leg_of_part.size() == sends_.size() && sends_.size() <= size_t(HaloFlags::most_faces),
                  "a halo with flags has ", sends_.size(), " parts, of which ", leg_of_part.size(),
                  " have legs; expected at most ", HaloFlags::most_faces);
  HaloFlags flags = transport_->begin_with_flags();
  for (size_t part = 0; part < sends_.size(); ++part) {
    const int leg = leg_of_part[part], message = received_.places[part].message;
    flags.message_of_face[part] = int8_t(sent_.places[part].message);
    flags.legs_of_message[message] |= 1u << leg;
  }
  return flags;
}

void HaloMessages::finish_together(const std::function<void()>& unpack) {
  tell_halo_observer(HaloStep::is_wanted);
  const auto unpack_all = [&unpack] {
    tell_halo_observer(HaloStep::has_come);
    unpack();
  };
  transport_->wait([&unpack_all] { unpack_all(); });
  tell_halo_observer(HaloStep::is_unpacked);
}

size_t HaloMessages::bytes_sent() const {
  size_t sum = 0;
  for (const HaloPart& message : sent_.messages) sum += message.bytes;
  return sum;
}

size_t HaloMessages::bytes_held() const { return 2 * bytes_sent(); }

}  // namespace trellis
