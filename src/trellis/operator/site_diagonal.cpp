#include "trellis/operator/site_diagonal.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/dirac/site_diagonal.hpp"

namespace trellis {

void multiply_site_diagonal(SpinorField& out, const SpinorField& in, int parity, const SpinorField* clover,
                            std::complex<double> scalar, const SiteRange& sites) {
  TRELLIS_REQUIRE(
      out.layout_ptr() == in.layout_ptr() && out.precision() == in.precision() && out.rhs() == in.rhs(),
      "site-diagonal term: fields differ in storage or right-hand sides");
  SiteDiagonalCall call;
  call.out = out.raw(parity);
  call.in = in.raw(parity);
  if (clover) call.clover = clover->raw(parity);
  call.term = clover ? SiteTerm::clover : SiteTerm::chiral_scalar;
  call.scalar[0] = scalar.real();
  call.scalar[1] = scalar.imag();
  call.slots = in.rhs();
  dispatch(in.spec().backend, in.precision(), in.layout().lanes(),
           [&]<class Layout, class Storage>() { launch_site_diagonal<Layout, Storage>(call, sites); });
}

void multiply_chiral(SpinorField& out, const SpinorField& in, std::complex<double> scalar) {
  for (int parity = first_parity(in.subset()); parity <= last_parity(in.subset()); ++parity)
    multiply_site_diagonal(out, in, parity, nullptr, scalar, SiteRange(in.layout().blocks()));
}

}  // namespace trellis
