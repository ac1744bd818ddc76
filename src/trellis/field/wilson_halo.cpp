#include "trellis/field/wilson_halo.hpp"

#include "trellis/comm/exchange_policy.hpp"
#include "trellis/field/dispatch.hpp"
#include "trellis/kernels/dirac/wilson_hop_compressed.hpp"

namespace trellis {

namespace {
constexpr int half_spinor_reals = 12;

size_t scalar_bytes(Precision p) { return p == Precision::double_precision ? sizeof(double) : sizeof(float); }
}  // namespace

WilsonHalo::WilsonHalo(std::shared_ptr<const HopLinks> links, int rhs) : links_{std::move(links)}, rhs_{rhs} {
  const SiteLayout& layout = links_->layout();
  const Geometry& geometry = layout.geometry();
  const int W = layout.lanes();
  std::vector<Message> sends, receives;
  for (int mu = 0; mu < Nd; ++mu) {
    if (!geometry.is_split(mu)) continue;
    if (links_->backend() == Backend::cuda)
      throw NotAvailable("halo exchange between GPUs is not built yet: run the cuda backend on one rank");
    for (int step = 1; step >= -1; step -= 2) {
      Leg leg;
      leg.leg = leg_of(mu, step);
      for (int lane = 0; lane < W; ++lane) {
        if (layout.leaves_rank(leg_of(mu, -step), lane)) leg.edge_lanes.push_back(lane);
        if (layout.leaves_rank(leg.leg, lane)) leg.ghost_lanes.push_back(lane);
      }
      const size_t faces = layout.face(0, leg.leg).size();
      const size_t padded = links_->backend() == Backend::cpu ? faces : (faces + 31) / 32 * 32;
      const size_t scalar = scalar_bytes(links_->precision());
      leg.ghost = Memory(padded * rhs * half_spinor_reals * W * scalar, links_->backend());
      const size_t bytes = faces * rhs * half_spinor_reals * leg.edge_lanes.size() * scalar;
      leg.send = Memory(bytes);
      leg.receives_in_place = links_->backend() == Backend::cpu && !layout.permutes(leg.leg);
      if (!leg.receives_in_place) leg.receive = Memory(bytes);
      legs_.push_back(std::move(leg));
      Leg& kept = legs_.back();
      void* target = kept.receives_in_place ? kept.ghost.data() : kept.receive.data();
      sends.push_back({geometry.neighbour_rank(mu, -step), kept.leg, kept.send.data(), bytes});
      receives.push_back({geometry.neighbour_rank(mu, step), kept.leg, target, bytes});
    }
  }
  if (is_needed()) exchange_ = make_halo_exchange(links_->lattice_ptr()->communicator(), sends, receives);
}

WilsonFaceCall WilsonHalo::face_call(const Leg& leg) const {
  WilsonFaceCall call;
  call.leg = leg.leg;
  call.link_reals = links_->link_reals();
  call.ghost = ghost(leg.leg);
  call.permutation = links_->layout().permutes(leg.leg) ? links_->layout().permutation(leg.leg) : nullptr;
  call.edge_lanes = leg.edge_lanes.data();
  call.ghost_lanes = leg.ghost_lanes.data();
  call.edge_lane_count = int(leg.edge_lanes.size());
  call.slots = rhs_;
  return call;
}

void WilsonHalo::start(const SpinorField& in, int in_parity, bool is_dagger) {
  const SiteLayout& layout = links_->layout();
  for (Leg& leg : legs_) {
    WilsonFaceCall call = face_call(leg);
    const auto& face = layout.face(in_parity, leg.leg ^ 1);
    call.links = links_->raw(in_parity);
    call.in = in.raw(in_parity);
    call.message = leg.send.data();
    call.face = face.data();
    call.is_dagger = is_dagger;
    dispatch(links_->backend(), links_->precision(), layout.lanes(), [&]<class Layout, class Storage>() {
      const SiteRange sites(int(face.size()));
      if (call.link_reals == 8)
        launch_wilson_pack_compressed<Layout, Storage>(call, sites);
      else
        launch_wilson_pack<Layout, Storage>(call, sites);
    });
  }
  if (exchange_) exchange_->start();
}

void WilsonHalo::finish() {
  if (exchange_) exchange_->wait();
  const SiteLayout& layout = links_->layout();
  for (Leg& leg : legs_) {
    if (leg.receives_in_place) continue;
    WilsonFaceCall call = face_call(leg);
    call.message = leg.receive.data();
    dispatch(links_->backend(), links_->precision(), layout.lanes(), [&]<class Layout, class Storage>() {
      launch_wilson_unpack<Layout, Storage>(call, SiteRange(int(layout.face(0, leg.leg).size())));
    });
  }
}

RawField WilsonHalo::ghost(int leg) const {
  for (const Leg& l : legs_)
    if (l.leg == leg) return {const_cast<void*>(l.ghost.data()), nullptr, rhs_};
  return {};
}

double WilsonHalo::message_bytes() const {
  double bytes = 0;
  for (const Leg& leg : legs_) bytes += double(leg.send.bytes());
  return bytes;
}

}  // namespace trellis
