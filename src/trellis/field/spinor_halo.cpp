#include "trellis/field/spinor_halo.hpp"

#include "trellis/field/precision_dispatch.hpp"

namespace trellis {

namespace {
/// Returns the links, once they are known to be such that their faces can be made.
std::shared_ptr<const HopLinks> checked(std::shared_ptr<const HopLinks> links, int directions) {
  TRELLIS_REQUIRE(links->precision() == Precision::double_precision && links->link_reals() == 18,
                  "halos of full spinors need links in double with 18 reals");
  TRELLIS_REQUIRE(directions >= 1 && directions <= Nd, "halos of ", directions, " directions");
  return links;
}
}  // namespace

SpinorHalo::SpinorHalo(std::shared_ptr<const HopLinks> links, int rhs, int directions)
    : links_{checked(std::move(links), directions)},
      rhs_{rhs},
      faces_{links_->layout_ptr(),
             links_->backend(),
             links_->lattice_ptr()->communicator(),
             rhs,
             {spinor_reals, spinor_reals},
             sizeof(double),
             directions} {}

void SpinorHalo::start(const SpinorField& in, int in_parity) {
  TRELLIS_REQUIRE(in.layout_ptr() == links_->layout_ptr() && in.precision() == Precision::double_precision &&
                      in.rhs() == rhs_ && in.spec().backend == links_->backend(),
                  "halo of full spinors: the field is not of the links' layout in double with ", rhs_,
                  " right-hand sides");
  faces_.start(in_parity, [&](const LaneFaceCalls& faces) {
    const SpinorFacesCall call{faces, links_->raw(in_parity), in.raw(in_parity), rhs_};
    dispatch_double(links_->backend(), links_->layout().lanes(),
                    [&]<class Layout, class Storage>() { launch_spinor_pack<Layout, Storage>(call); });
  });
}

void SpinorHalo::finish() {
  faces_.finish([&](const LaneFaceCall& face, const SiteRange& blocks) {
    dispatch_double(links_->backend(), links_->layout().lanes(), [&]<class Layout, class Storage>() {
      launch_spinor_unpack<Layout, Storage>(face, blocks);
    });
  });
}

}  // namespace trellis
