#include "trellis/field/spinor_halo.hpp"

#include "trellis/field/precision_dispatch.hpp"

namespace trellis {

namespace {
constexpr int spinor_reals = 24;
}  // namespace

SpinorHalo::SpinorHalo(std::shared_ptr<const HopLinks> links, int rhs, int directions)
    : links_{std::move(links)}, rhs_{rhs}, messages_{links_->backend()} {
  TRELLIS_REQUIRE(links_->precision() == Precision::double_precision && links_->link_reals() == 18,
                  "halos of full spinors need links in double with 18 reals");
  TRELLIS_REQUIRE(directions >= 1 && directions <= Nd, "halos of ", directions, " directions");
  const SiteLayout& layout = links_->layout();
  const Geometry& geometry = layout.geometry();
  const Backend backend = links_->backend();
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
      leg.edge_table = {leg.edge_lanes, backend};
      leg.ghost_table = {leg.ghost_lanes, backend};
      for (int parity = 0; parity < 2; ++parity)
        leg.face[parity] = {layout.face(parity, leg.leg ^ 1), backend};
      const size_t faces = layout.face(0, leg.leg).size();
      const size_t padded = backend == Backend::cpu ? faces : (faces + 31) / 32 * 32;
      leg.ghost = Memory(padded * rhs * spinor_reals * layout.lanes() * sizeof(double), backend);
      const size_t bytes = faces * rhs * spinor_reals * leg.edge_lanes.size() * sizeof(double);
      leg.receives_in_place = backend == Backend::cpu && !layout.permutes(leg.leg);
      leg.message = messages_.add(geometry.neighbour_rank(mu, -step), geometry.neighbour_rank(mu, step),
                                  leg.leg, bytes, leg.receives_in_place ? leg.ghost.data() : nullptr);
      legs_.push_back(std::move(leg));
    }
  }
  if (is_needed()) messages_.connect(links_->lattice_ptr()->communicator());
}

SpinorFaceCall SpinorHalo::face_call(const Leg& leg) const {
  SpinorFaceCall call;
  call.leg = leg.leg;
  call.ghost = ghost(leg.leg);
  call.permutation = links_->layout().permutes(leg.leg) ? links_->layout().permutation(leg.leg) : nullptr;
  call.edge_lanes = leg.edge_table.data();
  call.ghost_lanes = leg.ghost_table.data();
  call.edge_lane_count = int(leg.edge_lanes.size());
  call.slots = rhs_;
  return call;
}

void SpinorHalo::start(const SpinorField& in, int in_parity) {
  TRELLIS_REQUIRE(in.layout_ptr() == links_->layout_ptr() && in.precision() == Precision::double_precision &&
                      in.rhs() == rhs_ && in.spec().backend == links_->backend(),
                  "halo of full spinors: the field is not of the links' layout in double with ", rhs_,
                  " right-hand sides");
  if (!is_needed()) return;
  messages_.start([&] {
    for (const Leg& leg : legs_) {
      SpinorFaceCall call = face_call(leg);
      const KernelTable<int32_t>& face = leg.face[in_parity];
      call.links = links_->raw(in_parity);
      call.in = in.raw(in_parity);
      call.message = messages_.send_buffer(leg.message);
      call.face = face.data();
      dispatch_double(links_->backend(), links_->layout().lanes(), [&]<class Layout, class Storage>() {
        launch_spinor_pack<Layout, Storage>(call, SiteRange(int(face.size())));
      });
    }
  });
}

void SpinorHalo::finish() {
  if (!is_needed()) return;
  messages_.finish([&] {
    for (const Leg& leg : legs_) {
      if (leg.receives_in_place) continue;
      SpinorFaceCall call = face_call(leg);
      call.message = messages_.receive_buffer(leg.message);
      const int faces = int(links_->layout().face(0, leg.leg).size());
      dispatch_double(links_->backend(), links_->layout().lanes(), [&]<class Layout, class Storage>() {
        launch_spinor_unpack<Layout, Storage>(call, SiteRange(faces));
      });
    }
  });
}

RawField SpinorHalo::ghost(int leg) const {
  for (const Leg& l : legs_)
    if (l.leg == leg) return {const_cast<void*>(l.ghost.data()), nullptr, rhs_};
  return {};
}

size_t SpinorHalo::bytes() const {
  size_t sum = messages_.bytes_held();
  for (const Leg& leg : legs_) sum += leg.ghost.bytes();
  return sum;
}

}  // namespace trellis
