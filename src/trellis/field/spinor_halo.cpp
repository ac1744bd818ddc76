#include "trellis/field/spinor_halo.hpp"

#include "trellis/comm/exchange_policy.hpp"
#include "trellis/field/host_dispatch.hpp"

namespace trellis {

namespace {
constexpr int spinor_reals = 24;

/// Calls f.operator()<Layout>() with the layout of the links, which are in double.
template <class F>
void dispatch_double(const HopLinks& links, F&& f) {
  dispatch_host(links.backend(), Precision::double_precision, links.layout().lanes(),
                [&]<class Layout, class Storage>() {
                  if constexpr (std::is_same_v<Storage, double>) f.template operator()<Layout>();
                });
}
}  // namespace

SpinorHalo::SpinorHalo(std::shared_ptr<const HopLinks> links, int rhs, int directions)
    : links_{std::move(links)}, rhs_{rhs} {
  TRELLIS_REQUIRE(links_->precision() == Precision::double_precision && links_->link_reals() == 18,
                  "halos of full spinors need links in double with 18 reals");
  TRELLIS_REQUIRE(directions >= 1 && directions <= Nd, "halos of ", directions, " directions");
  const SiteLayout& layout = links_->layout();
  const Geometry& geometry = layout.geometry();
  std::vector<Message> sends, receives;
  legs_.reserve(legs);
  for (int mu = 0; mu < directions; ++mu) {
    if (!geometry.is_split(mu)) continue;
    for (int step = 1; step >= -1; step -= 2) {
      Leg leg;
      leg.leg = leg_of(mu, step);
      for (int lane = 0; lane < layout.lanes(); ++lane) {
        if (layout.leaves_rank(leg_of(mu, -step), lane)) leg.edge_lanes.push_back(lane);
        if (layout.leaves_rank(leg.leg, lane)) leg.ghost_lanes.push_back(lane);
      }
      const size_t faces = layout.face(0, leg.leg).size();
      const size_t padded = links_->backend() == Backend::cpu ? faces : (faces + 31) / 32 * 32;
      leg.ghost = Memory(padded * rhs * spinor_reals * layout.lanes() * sizeof(double), links_->backend());
      const size_t bytes = faces * rhs * spinor_reals * leg.edge_lanes.size() * sizeof(double);
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

SpinorFaceCall SpinorHalo::face_call(const Leg& leg) const {
  SpinorFaceCall call;
  call.leg = leg.leg;
  call.ghost = ghost(leg.leg);
  call.permutation = links_->layout().permutes(leg.leg) ? links_->layout().permutation(leg.leg) : nullptr;
  call.edge_lanes = leg.edge_lanes.data();
  call.ghost_lanes = leg.ghost_lanes.data();
  call.edge_lane_count = int(leg.edge_lanes.size());
  call.slots = rhs_;
  return call;
}

void SpinorHalo::start(const SpinorField& in, int in_parity) {
  TRELLIS_REQUIRE(in.layout_ptr() == links_->layout_ptr() && in.precision() == Precision::double_precision &&
                      in.rhs() == rhs_ && in.spec().backend == links_->backend(),
                  "halo of full spinors: the field is not of the links' layout in double with ", rhs_,
                  " right-hand sides");
  for (Leg& leg : legs_) {
    SpinorFaceCall call = face_call(leg);
    const auto& face = links_->layout().face(in_parity, leg.leg ^ 1);
    call.links = links_->raw(in_parity);
    call.in = in.raw(in_parity);
    call.message = leg.send.data();
    call.face = face.data();
    dispatch_double(*links_, [&]<class Layout>() {
      launch_spinor_pack<Layout, double>(call, SiteRange(int(face.size())));
    });
  }
  if (exchange_) exchange_->start();
}

void SpinorHalo::finish() {
  if (exchange_) exchange_->wait();
  for (Leg& leg : legs_) {
    if (leg.receives_in_place) continue;
    SpinorFaceCall call = face_call(leg);
    call.message = leg.receive.data();
    const int faces = int(links_->layout().face(0, leg.leg).size());
    dispatch_double(*links_,
                    [&]<class Layout>() { launch_spinor_unpack<Layout, double>(call, SiteRange(faces)); });
  }
}

RawField SpinorHalo::ghost(int leg) const {
  for (const Leg& l : legs_)
    if (l.leg == leg) return {const_cast<void*>(l.ghost.data()), nullptr, rhs_};
  return {};
}

size_t SpinorHalo::bytes() const {
  size_t sum = 0;
  for (const Leg& leg : legs_) sum += leg.ghost.bytes() + leg.send.bytes() + leg.receive.bytes();
  return sum;
}

}  // namespace trellis
