#include "trellis/field/wilson_halo.hpp"

#include "trellis/field/dispatch.hpp"
#include "trellis/kernels/dirac/wilson_hop_compressed.hpp"

namespace trellis {

namespace {
constexpr int half_spinor_reals = 12;

size_t scalar_bytes(Precision p) { return p == Precision::double_precision ? sizeof(double) : sizeof(float); }
}  // namespace

WilsonHalo::WilsonHalo(std::shared_ptr<const HopLinks> links, int rhs)
    : links_{std::move(links)}, rhs_{rhs}, messages_{links_->backend()} {
  const SiteLayout& layout = links_->layout();
  const Geometry& geometry = layout.geometry();
  const Backend backend = links_->backend();
  const int W = layout.lanes();
  for (int mu = 0; mu < Nd; ++mu) {
    if (!geometry.is_split(mu)) continue;
    for (int step = 1; step >= -1; step -= 2) {
      Leg leg;
      leg.leg = leg_of(mu, step);
      for (int lane = 0; lane < W; ++lane) {
        if (layout.leaves_rank(leg_of(mu, -step), lane)) leg.edge_lanes.push_back(lane);
        if (layout.leaves_rank(leg.leg, lane)) leg.ghost_lanes.push_back(lane);
      }
      leg.edge_table = {leg.edge_lanes, backend};
      leg.ghost_table = {leg.ghost_lanes, backend};
      for (int parity = 0; parity < 2; ++parity)
        leg.face[parity] = {layout.face(parity, leg.leg ^ 1), backend};
      const size_t faces = layout.face(0, leg.leg).size();
      const size_t padded = backend == Backend::cpu ? faces : (faces + 31) / 32 * 32;
      const size_t scalar = scalar_bytes(links_->precision());
      leg.ghost = Memory(padded * rhs * half_spinor_reals * W * scalar, backend);
      const size_t bytes = faces * rhs * half_spinor_reals * leg.edge_lanes.size() * scalar;
      leg.receives_in_place = backend == Backend::cpu && !layout.permutes(leg.leg);
      leg.message = messages_.add(geometry.neighbour_rank(mu, -step), geometry.neighbour_rank(mu, step),
                                  leg.leg, bytes, leg.receives_in_place ? leg.ghost.data() : nullptr);
      legs_.push_back(std::move(leg));
    }
  }
  if (is_needed()) messages_.connect(links_->lattice_ptr()->communicator());
}

WilsonFaceCall WilsonHalo::face_call(const Leg& leg) const {
  WilsonFaceCall call;
  call.leg = leg.leg;
  call.link_reals = links_->link_reals();
  call.ghost = ghost(leg.leg);
  call.permutation = links_->layout().permutes(leg.leg) ? links_->layout().permutation(leg.leg) : nullptr;
  call.edge_lanes = leg.edge_table.data();
  call.ghost_lanes = leg.ghost_table.data();
  call.edge_lane_count = int(leg.edge_lanes.size());
  call.slots = rhs_;
  return call;
}

void WilsonHalo::start(const SpinorField& in, int in_parity, bool is_dagger) {
  messages_.start([&] {
    for (const Leg& leg : legs_) {
      WilsonFaceCall call = face_call(leg);
      const KernelTable<int32_t>& face = leg.face[in_parity];
      call.links = links_->raw(in_parity);
      call.in = in.raw(in_parity);
      call.message = messages_.send_buffer(leg.message);
      call.face = face.data();
      call.is_dagger = is_dagger;
      dispatch(links_->backend(), links_->precision(), links_->layout().lanes(),
               [&]<class Layout, class Storage>() {
                 const SiteRange sites(int(face.size()));
                 if constexpr (!std::is_same_v<Storage, Fp16>)  // no links of 8 reals there
                   if (call.link_reals == 8)
                     return launch_wilson_pack_compressed<Layout, Storage>(call, sites);
                 launch_wilson_pack<Layout, Storage>(call, sites);
               });
    }
  });
}

void WilsonHalo::finish() {
  messages_.finish([&] {
    const SiteLayout& layout = links_->layout();
    for (const Leg& leg : legs_) {
      if (leg.receives_in_place) continue;
      WilsonFaceCall call = face_call(leg);
      call.message = messages_.receive_buffer(leg.message);
      dispatch(links_->backend(), links_->precision(), layout.lanes(), [&]<class Layout, class Storage>() {
        launch_wilson_unpack<Layout, Storage>(call, SiteRange(int(layout.face(0, leg.leg).size())));
      });
    }
  });
}

RawField WilsonHalo::ghost(int leg) const {
  for (const Leg& l : legs_)
    if (l.leg == leg) return {const_cast<void*>(l.ghost.data()), nullptr, rhs_};
  return {};
}

}  // namespace trellis
