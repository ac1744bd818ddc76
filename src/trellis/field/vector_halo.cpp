#include "trellis/field/vector_halo.hpp"

#include "trellis/comm/exchange_policy.hpp"
#include "trellis/field/dispatch.hpp"

namespace trellis {

namespace {
constexpr size_t vector_reals = 6;
}

VectorHalo::VectorHalo(HopStencilPtr stencil, const HopLinks& links, int parity, int rhs)
    : stencil_{std::move(stencil)},
      precision_{links.precision()},
      backend_{links.backend()},
      parity_{parity},
      rhs_{rhs} {
  const SiteLayout& layout = stencil_->layout();
  const Geometry& geometry = layout.geometry();
  const size_t scalar = precision_ == Precision::double_precision ? sizeof(double) : sizeof(float);
  std::vector<Message> sends, receives;
  legs_.reserve(legs);
  for (int mu = 0; mu < Nd; ++mu) {
    if (!geometry.is_split(mu)) continue;
    if (backend_ == Backend::cuda)
      throw NotAvailable("halo exchange between GPUs is not built yet: run the cuda backend on one rank");
    for (int step = 1; step >= -1; step -= 2) {
      const int leg_number = leg_of(mu, step);
      const HopStencil::Face& face = stencil_->face(parity, leg_number);
      const size_t ghosts =
          backend_ == Backend::cpu ? size_t(face.ghosts) : size_t(face.ghosts + 31) / 32 * 32;
      const size_t bytes = face.arrivals.size() * size_t(rhs) * vector_reals * scalar;
      Leg leg;
      leg.leg = leg_number;
      leg.ghost = Memory(ghosts * size_t(rhs) * vector_reals * size_t(layout.lanes()) * scalar);
      leg.send = Memory(bytes);
      leg.receive = Memory(bytes);
      legs_.push_back(std::move(leg));
      const int tag = 8 * stencil_->distance() + leg_number;
      sends.push_back({geometry.neighbour_rank(mu, -step), tag, legs_.back().send.data(), bytes});
      receives.push_back({geometry.neighbour_rank(mu, step), tag, legs_.back().receive.data(), bytes});
    }
  }
  if (is_needed()) exchange_ = make_halo_exchange(links.lattice_ptr()->communicator(), sends, receives);
}

VectorFaceCall VectorHalo::face_call(const Leg& leg) const {
  const HopStencil::Face& face = stencil_->face(parity_, leg.leg);
  VectorFaceCall call;
  call.leg = leg.leg;
  call.ghost = ghost(leg.leg);
  call.sources = face.sources.data();
  call.first = face.first.data();
  call.deliveries = &face.deliveries.data()->lane;
  call.arrivals = face.arrivals.data();
  call.slots = rhs_;
  return call;
}

void VectorHalo::start(const SpinorField& in, const HopLinks& links) {
  const SiteLayout& layout = stencil_->layout();
  for (Leg& leg : legs_) {
    VectorFaceCall call = face_call(leg);
    call.links = links.raw(1 - parity_);
    call.link_reals = links.link_reals();
    call.in = in.raw(1 - parity_);
    call.message = leg.send.data();
    const int sources = int(stencil_->face(parity_, leg.leg).sources.size());
    dispatch(backend_, precision_, layout.lanes(), [&]<class Layout, class Storage>() {
      launch_vector_pack<Layout, Storage>(call, SiteRange(sources));
    });
  }
  if (exchange_) exchange_->start();
}

void VectorHalo::finish() {
  if (exchange_) exchange_->wait();
  for (Leg& leg : legs_) {
    VectorFaceCall call = face_call(leg);
    call.message = leg.receive.data();
    const int positions = int(stencil_->face(parity_, leg.leg).arrivals.size());
    dispatch(backend_, precision_, stencil_->layout().lanes(), [&]<class Layout, class Storage>() {
      launch_vector_unpack<Layout, Storage>(call, SiteRange(positions));
    });
  }
}

RawField VectorHalo::ghost(int leg) const {
  for (const Leg& l : legs_)
    if (l.leg == leg) return {const_cast<void*>(l.ghost.data()), nullptr, rhs_};
  return {};
}

}  // namespace trellis
