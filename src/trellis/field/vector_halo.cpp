#include "trellis/field/vector_halo.hpp"

#include "trellis/field/storage/dispatch.hpp"
#include "trellis/field/storage/memory_layout.hpp"

namespace trellis {

namespace {
size_t scalar_bytes(Precision p) { return p == Precision::double_precision ? sizeof(double) : sizeof(float); }

size_t message_bytes(const HopStencil::Face& face, Precision precision, int rhs) {
  return face.arrivals.size() * size_t(rhs) * size_t(colour_vector_reals) * scalar_bytes(precision);
}
}  // namespace

VectorHalo::VectorHalo(HopStencilPtr stencil, const HopLinks& links, int parity, int rhs)
    : stencil_{std::move(stencil)},
      precision_{links.precision()},
      backend_{links.backend()},
      parity_{parity},
      rhs_{rhs},
      messages_{links.backend()} {
  const SiteLayout& layout = stencil_->layout();
  const Geometry& geometry = layout.geometry();
  const size_t scalar = scalar_bytes(precision_);
  legs_.reserve(legs);
  for (int mu = 0; mu < Nd; ++mu) {
    if (!geometry.is_split(mu)) continue;
    for (int step = 1; step >= -1; step -= 2) {
      const int leg_number = leg_of(mu, step);
      const HopStencil::Face& face = stencil_->face(parity, leg_number);
      const size_t ghosts = size_t(stored_blocks(backend_, int(face.ghosts)));
      Leg leg;
      leg.leg = leg_number;
      leg.ghost = Memory(ghosts * size_t(rhs) * size_t(colour_vector_reals) * size_t(layout.lanes()) * scalar,
                         backend_);
      leg.sources = {face.sources, backend_};
      leg.first = {face.first, backend_};
      leg.deliveries = {&face.deliveries.data()->lane, 2 * face.deliveries.size(), backend_};
      leg.arrivals = {face.arrivals, backend_};
      leg.message =
          messages_.add(geometry.neighbour_rank(mu, -step), geometry.neighbour_rank(mu, step),
                        8 * stencil_->distance() + leg_number, message_bytes(face, precision_, rhs));
      legs_.push_back(std::move(leg));
    }
  }
  if (is_needed()) messages_.connect(links.lattice_ptr()->communicator(), geometry, rhs, scalar);
}

Cost VectorHalo::cost(const HopStencil& stencil, Precision precision, int parity, int rhs) {
  Cost cost;
  for (int mu = 0; mu < Nd; ++mu) {
    if (!stencil.layout().geometry().is_split(mu)) continue;
    for (int step = 1; step >= -1; step -= 2) {
      const HopStencil::Face& face = stencil.face(parity, leg_of(mu, step));
      cost.add_message({mu, -step, double(message_bytes(face, precision, rhs))});
      cost.launches += 2;
    }
  }
  return cost;
}

VectorFaceCall VectorHalo::face_call(const Leg& leg) const {
  VectorFaceCall call;
  call.leg = leg.leg;
  call.ghost = ghost(leg.leg);
  call.sources = leg.sources.data();
  call.first = leg.first.data();
  call.deliveries = leg.deliveries.data();
  call.arrivals = leg.arrivals.data();
  call.slots = rhs_;
  return call;
}

void VectorHalo::start(const SpinorField& in, const HopLinks& links) {
  messages_.start([&] {
    for (const Leg& leg : legs_) {
      VectorFaceCall call = face_call(leg);
      call.links = links.raw(1 - parity_);
      call.link_reals = links.link_reals();
      call.in = in.raw(1 - parity_);
      call.message = messages_.send_buffer(leg.message);
      dispatch(backend_, precision_, stencil_->layout().lanes(), [&]<class Layout, class Storage>() {
        launch_vector_pack<Layout, Storage>(call, SiteRange(int(leg.sources.size())));
      });
    }
  });
}

void VectorHalo::finish() {
  messages_.finish([&] {
    for (const Leg& leg : legs_) {
      VectorFaceCall call = face_call(leg);
      call.message = messages_.receive_buffer(leg.message);
      dispatch(backend_, precision_, stencil_->layout().lanes(), [&]<class Layout, class Storage>() {
        launch_vector_unpack<Layout, Storage>(call, SiteRange(int(leg.arrivals.size())));
      });
    }
  });
}

RawField VectorHalo::ghost(int leg) const {
  for (const Leg& l : legs_)
    if (l.leg == leg) return {const_cast<void*>(l.ghost.data()), nullptr, rhs_};
  return {};
}

}  // namespace trellis
