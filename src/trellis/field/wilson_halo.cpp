#include "trellis/field/wilson_halo.hpp"

#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/dirac/wilson_hop_compressed.hpp"

namespace trellis {

namespace {
/// Returns the reals of a leg as WilsonGhosts has them.
LegReals half_spinor_reals(Precision p) { return {p == Precision::half_precision ? 7 : 12, 12}; }
}  // namespace

WilsonHalo::WilsonHalo(std::shared_ptr<const HopLinks> links, int rhs)
    : links_{links},
      rhs_{rhs},
      faces_{links->layout_ptr(),
             links->backend(),
             links->lattice_ptr()->communicator(),
             rhs,
             half_spinor_reals(links->precision()),
             scalar_bytes(links->precision()),
             Nd,
             true} {}

Cost WilsonHalo::cost(const HopLinks& links, int rhs) {
  return LaneFaces::cost(links.layout(), links.backend(), rhs, half_spinor_reals(links.precision()),
                         scalar_bytes(links.precision()));
}

WilsonFacesCall WilsonHalo::call(const LaneFaceCalls& faces, const SpinorField& in, int in_parity,
                                 bool is_dagger) const {
  WilsonFacesCall call;
  call.faces = faces;
  call.links = links_->raw(in_parity);
  call.link_reals = links_->link_reals();
  call.in = in.raw(in_parity);
  call.is_dagger = is_dagger;
  call.slots = rhs_;
  return call;
}

WilsonHalo::Flagged WilsonHalo::begin_with_flags(const SpinorField& in, int in_parity, bool is_dagger) {
  const LaneFaces::Flagged begun = faces_.begin_with_flags(in_parity);
  return {call(begun.faces, in, in_parity, is_dagger), begun.flags};
}

void WilsonHalo::start(const SpinorField& in, int in_parity, bool is_dagger) {
  faces_.start(in_parity, [&](const LaneFaceCalls& faces) {
    const WilsonFacesCall call = this->call(faces, in, in_parity, is_dagger);
    dispatch(links_->backend(), links_->precision(), links_->layout().lanes(),
             [&]<class Layout, class Storage>() {
               if constexpr (!std::is_same_v<Storage, Fp16>)  // there are no links of 8 reals there
                 if (call.link_reals == 8) return launch_wilson_pack_compressed<Layout, Storage>(call);
               launch_wilson_pack<Layout, Storage>(call);
             });
  });
}

void WilsonHalo::finish() {
  faces_.finish([&](const LaneFaceCall& face, const SiteRange& blocks) {
    dispatch(links_->backend(), links_->precision(), links_->layout().lanes(),
             [&]<class Layout, class Storage>() { launch_wilson_unpack<Layout, Storage>(face, blocks); });
  });
}

}  // namespace trellis
