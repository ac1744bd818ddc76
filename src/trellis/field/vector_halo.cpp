#include "trellis/field/vector_halo.hpp"

#include <algorithm>

#include "trellis/field/storage/dispatch.hpp"
#include "trellis/field/storage/memory_layout.hpp"

namespace trellis {

namespace {
/// Returns true where each ghost comes from another rank as a whole: the message is then the ghosts.
bool is_received_in_place(Backend backend) { return !has_lane_blocks(backend); }

size_t message_bytes(const HopStencil::Face& face, Backend backend, Precision precision, int rhs) {
  const size_t positions =
      is_received_in_place(backend) ? size_t(stored_blocks(backend, face.ghosts)) : face.arrivals.size();
  return positions * size_t(rhs) * size_t(colour_vector_reals) * scalar_bytes(precision);
}

/// Calls f(hop, mu, step) for the legs of all hops in the directions first..last that lead to other ranks.
template <class F>
void for_each_leg(const std::vector<HopStencilPtr>& stencils, int first, int last, const F& f) {
  for (size_t hop = 0; hop < stencils.size(); ++hop)
    for (int mu = first; mu <= last; ++mu)
      if (stencils[hop]->layout().geometry().is_split(mu))
        for (const int step : {1, -1}) f(int(hop), mu, step);
}
}  // namespace

VectorHalo::VectorHalo(std::vector<HopStencilPtr> stencils, const HopLinks& links, int parity, int rhs,
                       int first, int last)
    : stencils_{std::move(stencils)},
      precision_{links.precision()},
      backend_{links.backend()},
      parity_{parity},
      rhs_{rhs},
      messages_{links.backend()} {
  const SiteLayout& layout = stencils_.front()->layout();
  const Geometry& geometry = layout.geometry();
  const size_t scalar = scalar_bytes(precision_);
  legs_.reserve(stencils_.size() * legs);
  for_each_leg(stencils_, first, last, [&](int hop, int mu, int step) {
    const int leg_number = leg_of(mu, step);
    const HopStencil::Face& face = stencils_[size_t(hop)]->face(parity, leg_number);
    Leg leg;
    leg.hop = hop;
    leg.leg = leg_number;
    if (!is_received_in_place(backend_))
      leg.ghost = Memory::to_be_written(size_t(stored_blocks(backend_, face.ghosts)) * size_t(rhs) *
                                            size_t(colour_vector_reals) * size_t(layout.lanes()) * scalar,
                                        backend_);
    leg.sources = {face.sources, backend_};
    leg.first = {face.first, backend_};
    leg.deliveries = {&face.deliveries.data()->lane, 2 * face.deliveries.size(), backend_};
    leg.arrivals = {face.arrivals, backend_};
    leg.part = messages_.add(geometry.neighbour_rank(mu, -step), geometry.neighbour_rank(mu, step),
                             8 * stencils_[size_t(hop)]->distance() + leg_number,
                             message_bytes(face, backend_, precision_, rhs));
    legs_.push_back(std::move(leg));
  });
  if (is_needed()) messages_.connect(links.lattice_ptr()->communicator(), geometry, rhs, scalar, true);
}

Cost VectorHalo::cost(const std::vector<HopStencilPtr>& stencils, Backend backend, Precision precision,
                      int parity, int rhs) {
  Cost cost;
  std::vector<SentMessage> parts;
  for_each_leg(stencils, 0, Nd - 1, [&](int hop, int mu, int step) {
    const HopStencil::Face& face = stencils[size_t(hop)]->face(parity, leg_of(mu, step));
    parts.push_back({mu, -step, double(message_bytes(face, backend, precision, rhs))});
    cost.launches += is_received_in_place(backend) ? 0 : 1;
  });
  if (!parts.empty()) ++cost.launches;  // all faces are packed in one
  add_merged(cost, stencils.front()->layout().geometry(), parts);
  return cost;
}

VectorFaceCall VectorHalo::face_call(const Leg& leg) const {
  VectorFaceCall call;
  call.hop = leg.hop;
  call.leg = leg.leg;
  call.ghost = {const_cast<void*>(leg.ghost.data()), nullptr, rhs_};
  call.sources = leg.sources.data();
  call.first = leg.first.data();
  call.deliveries = leg.deliveries.data();
  call.arrivals = leg.arrivals.data();
  call.source_count = int(leg.sources.size());
  call.slots = rhs_;
  return call;
}

VectorFacesCall VectorHalo::faces_to_pack(const SpinorField& in, std::span<const HopLinks* const> links) {
  VectorFacesCall call;
  for (const Leg& leg : legs_) {
    VectorFaceCall& face = call.faces[call.count++] = face_call(leg);
    face.message = messages_.send_buffer(leg.part);
  }
  for (size_t hop = 0; hop < VectorFacesCall::most_hops; ++hop) {
    const HopLinks& of_hop = *links[std::min(hop, links.size() - 1)];
    call.links[hop] = of_hop.raw(1 - parity_);
    call.link_reals[hop] = of_hop.link_reals();
  }
  call.in = in.raw(1 - parity_);
  call.slots = rhs_;
  return call;
}

void VectorHalo::start(const SpinorField& in, std::span<const HopLinks* const> links) {
  messages_.start([&] {
    const VectorFacesCall call = faces_to_pack(in, links);
    dispatch(backend_, precision_, stencils_[0]->layout().lanes(),
             [&]<class Layout, class Storage>() { launch_vector_pack<Layout, Storage>(call); });
  });
}

VectorHalo::Flagged VectorHalo::begin_with_flags(const SpinorField& in,
                                                 std::span<const HopLinks* const> links) {
  std::vector<int> numbers;
  for (const Leg& leg : legs_) numbers.push_back(trellis::legs * leg.hop + leg.leg);
  const HaloFlags flags = messages_.begin_with_flags(numbers);
  return {faces_to_pack(in, links), flags};
}

void VectorHalo::finish() {
  messages_.finish([&](int part) {
    if (is_received_in_place(backend_)) return;
    const Leg& leg = legs_[size_t(part)];
    VectorFaceCall call = face_call(leg);
    call.message = messages_.receive_buffer(part);
    dispatch(backend_, precision_, stencils_[0]->layout().lanes(), [&]<class Layout, class Storage>() {
      launch_vector_unpack<Layout, Storage>(call, SiteRange(int(leg.arrivals.size())));
    });
  });
}

RawField VectorHalo::ghost(int hop, int leg) const {
  for (const Leg& l : legs_)
    if (l.hop == hop && l.leg == leg)
      return {is_received_in_place(backend_) ? messages_.receive_buffer(l.part)
                                             : const_cast<void*>(l.ghost.data()),
              nullptr, rhs_};
  return {};
}

}  // namespace trellis
