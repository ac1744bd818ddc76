#include "trellis/field/lane_faces.hpp"

#include "trellis/field/storage/memory_layout.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {

namespace {
/// Returns the lanes whose objects go to the neighbour behind a leg, or come from it.
std::vector<int32_t> lanes_at(const SiteLayout& layout, int leg) {
  std::vector<int32_t> lanes;
  for (int lane = 0; lane < layout.lanes(); ++lane)
    if (layout.leaves_rank(leg, lane)) lanes.push_back(lane);
  return lanes;
}

/// Returns the bytes of a lane's object.
size_t object_bytes(int rhs, int step, LegReals reals, size_t scalar_bytes) {
  return size_t(rhs) * size_t(step > 0 ? reals.forward : reals.backward) * scalar_bytes;
}

/// Returns the bytes of the message that fills the ghosts of a leg.
size_t message_bytes(Backend backend, const SiteLayout& layout, int leg, size_t object_bytes) {
  const int blocks = stored_blocks(backend, int(layout.face(0, leg).size()));
  return size_t(blocks) * lanes_at(layout, leg ^ 1).size() * object_bytes;
}

/// Returns true where all lanes of ghosts come from another rank: the message is then the ghosts.
bool is_received_in_place(const SiteLayout& layout, int leg) { return !layout.permutes(leg); }
}  // namespace

LaneFaces::LaneFaces(SiteLayoutPtr site_layout, Backend backend, Communicator& communicator, int rhs,
                     LegReals reals, size_t scalar_bytes, int directions, bool is_of_hop)
    : layout_{std::move(site_layout)}, rhs_{rhs}, messages_{backend} {
  const SiteLayout& layout = *layout_;
  const Geometry& geometry = layout.geometry();
  require_even_parts(geometry, "a hop");  // faces of both parities are as large as each other
  legs_.reserve(legs);
  for (int mu = 0; mu < directions; ++mu) {
    if (!geometry.is_split(mu)) continue;
    for (int step = 1; step >= -1; step -= 2) {
      Leg leg;
      leg.leg = leg_of(mu, step);
      const size_t of_lane = object_bytes(rhs, step, reals, scalar_bytes);
      leg.edge_lanes = lanes_at(layout, leg.leg ^ 1);
      leg.ghost_lanes = lanes_at(layout, leg.leg);
      leg.edge_table = {leg.edge_lanes, backend};
      leg.ghost_table = {leg.ghost_lanes, backend};
      for (int parity = 0; parity < 2; ++parity)
        leg.face[parity] = {layout.face(parity, leg.leg ^ 1), backend};
      const size_t faces = layout.face(0, leg.leg).size();
      const size_t padded = size_t(stored_blocks(backend, int(faces)));
      leg.receives_in_place = is_received_in_place(layout, leg.leg);
      if (!leg.receives_in_place)
        leg.ghost = Memory::to_be_written(padded * size_t(layout.lanes()) * of_lane, backend);
      leg.part = messages_.add(geometry.neighbour_rank(mu, -step), geometry.neighbour_rank(mu, step), leg.leg,
                               message_bytes(backend, layout, leg.leg, of_lane));
      legs_.push_back(std::move(leg));
    }
  }
  if (is_needed()) messages_.connect(communicator, geometry, rhs, scalar_bytes, is_of_hop);
}

Cost LaneFaces::cost(const SiteLayout& layout, Backend backend, int rhs, LegReals reals, size_t scalar_bytes,
                     int directions) {
  Cost cost;
  std::vector<SentMessage> parts;
  for (int mu = 0; mu < directions; ++mu) {
    if (!layout.geometry().is_split(mu)) continue;
    for (int step = 1; step >= -1; step -= 2) {
      const int leg = leg_of(mu, step);
      const size_t bytes = message_bytes(backend, layout, leg, object_bytes(rhs, step, reals, scalar_bytes));
      parts.push_back({mu, -step, double(bytes)});  // the ghosts of a leg come against it
      cost.launches += is_received_in_place(layout, leg) ? 0 : 1;
    }
  }
  if (!parts.empty()) ++cost.launches;  // all faces are packed in one
  add_merged(cost, layout.geometry(), parts);
  return cost;
}

LaneFaceCall LaneFaces::call(const Leg& leg) const {
  LaneFaceCall call;
  call.leg = leg.leg;
  call.ghost = ghost(leg.leg);
  call.permutation = layout_->permutes(leg.leg) ? layout_->permutation(leg.leg) : nullptr;
  call.edge_lanes = leg.edge_table.data();
  call.ghost_lanes = leg.ghost_table.data();
  call.edge_lane_count = int(leg.edge_lanes.size());
  call.slots = rhs_;
  return call;
}

LaneFaceCalls LaneFaces::faces_to_pack(int parity) {
  LaneFaceCalls calls;
  for (const Leg& leg : legs_) {
    LaneFaceCall& of_leg = calls.faces[calls.count++] = call(leg);
    of_leg.message = messages_.send_buffer(leg.part);
    of_leg.face = leg.face[parity].data();
    of_leg.blocks = int(leg.face[parity].size());
  }
  return calls;
}

void LaneFaces::start(int parity, const std::function<void(const LaneFaceCalls&)>& pack) {
  if (!is_needed()) return;
  messages_.start([&] { pack(faces_to_pack(parity)); });
}

LaneFaces::Flagged LaneFaces::begin_with_flags(int parity) {
  std::vector<int> numbers;
  for (const Leg& leg : legs_) numbers.push_back(leg.leg);
  const HaloFlags flags = messages_.begin_with_flags(numbers);
  return {faces_to_pack(parity), flags};
}

void LaneFaces::finish(const std::function<void(const LaneFaceCall&, const SiteRange&)>& unpack) {
  if (!is_needed()) return;
  messages_.finish([&](int part) {
    const Leg& leg = legs_[size_t(part)];
    if (leg.receives_in_place) return;
    LaneFaceCall of_leg = call(leg);
    of_leg.message = messages_.receive_buffer(part);
    unpack(of_leg, SiteRange(int(layout_->face(0, leg.leg).size())));
  });
}

RawField LaneFaces::ghost(int leg) const {
  for (const Leg& l : legs_)
    if (l.leg == leg)
      return {l.receives_in_place ? messages_.receive_buffer(l.part) : const_cast<void*>(l.ghost.data()),
              nullptr, rhs_};
  return {};
}

size_t LaneFaces::bytes_held() const {
  size_t sum = messages_.bytes_held();
  for (const Leg& leg : legs_) sum += leg.ghost.bytes();
  return sum;
}

}  // namespace trellis
