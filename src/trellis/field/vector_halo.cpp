#include "trellis/field/vector_halo.hpp"

#include "trellis/field/storage/dispatch.hpp"
#include "trellis/field/storage/memory_layout.hpp"

namespace trellis {

namespace {
size_t message_bytes(const HopStencil::Face& face, Precision precision, int rhs) {
  return face.arrivals.size() * size_t(rhs) * size_t(colour_vector_reals) * scalar_bytes(precision);
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
    const size_t ghosts = size_t(stored_blocks(backend_, int(face.ghosts)));
    Leg leg;
    leg.hop = hop;
    leg.leg = leg_number;
    leg.ghost = Memory::to_be_written(
        ghosts * size_t(rhs) * size_t(colour_vector_reals) * size_t(layout.lanes()) * scalar, backend_);
    leg.sources = {face.sources, backend_};
    leg.first = {face.first, backend_};
    leg.deliveries = {&face.deliveries.data()->lane, 2 * face.deliveries.size(), backend_};
    leg.arrivals = {face.arrivals, backend_};
    leg.part = messages_.add(geometry.neighbour_rank(mu, -step), geometry.neighbour_rank(mu, step),
                             8 * stencils_[size_t(hop)]->distance() + leg_number,
                             message_bytes(face, precision_, rhs));
    legs_.push_back(std::move(leg));
  });
  if (is_needed()) messages_.connect(links.lattice_ptr()->communicator(), geometry, rhs, scalar);
}

Cost VectorHalo::cost(const std::vector<HopStencilPtr>& stencils, Precision precision, int parity, int rhs) {
  Cost cost;
  std::vector<SentMessage> parts;
  for_each_leg(stencils, 0, Nd - 1, [&](int hop, int mu, int step) {
    const HopStencil::Face& face = stencils[size_t(hop)]->face(parity, leg_of(mu, step));
    parts.push_back({mu, -step, double(message_bytes(face, precision, rhs))});
    cost.launches += 2;
  });
  add_merged(cost, stencils.front()->layout().geometry(), parts);
  return cost;
}

VectorFaceCall VectorHalo::face_call(const Leg& leg) const {
  VectorFaceCall call;
  call.leg = leg.leg;
  call.ghost = ghost(leg.hop, leg.leg);
  call.sources = leg.sources.data();
  call.first = leg.first.data();
  call.deliveries = leg.deliveries.data();
  call.arrivals = leg.arrivals.data();
  call.slots = rhs_;
  return call;
}

void VectorHalo::start(const SpinorField& in, std::span<const HopLinks* const> links) {
  messages_.start([&] {
    for (const Leg& leg : legs_) {
      VectorFaceCall call = face_call(leg);
      call.links = links[size_t(leg.hop)]->raw(1 - parity_);
      call.link_reals = links[size_t(leg.hop)]->link_reals();
      call.in = in.raw(1 - parity_);
      call.message = messages_.send_buffer(leg.part);
      dispatch(backend_, precision_, stencils_[0]->layout().lanes(), [&]<class Layout, class Storage>() {
        launch_vector_pack<Layout, Storage>(call, SiteRange(int(leg.sources.size())));
      });
    }
  });
}

void VectorHalo::finish() {
  messages_.finish([&](int part) {
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
    if (l.hop == hop && l.leg == leg) return {const_cast<void*>(l.ghost.data()), nullptr, rhs_};
  return {};
}

}  // namespace trellis
