#include "trellis/operator/clover_field.hpp"

#include <cmath>

#include "trellis/algebra/gamma.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/link_dispatch.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/dirac/clover_determinant.hpp"
#include "trellis/kernels/dirac/clover_term.hpp"
#include "trellis/kernels/dirac/twisted_clover.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {

namespace {
void set_gamma_products(CloverTermCall& call) {
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = mu + 1; nu < Nd; ++nu) {
      const GammaMatrix g = gamma_mu(mu) * gamma_mu(nu);
      for (int row = 0; row < 4; ++row) {
        const int column = g.column[row];  // it has the same chirality
        double* entry = call.gamma[mu][nu][row / 2][row % 2][column % 2];
        entry[0] = g.phase[row].real();
        entry[1] = g.phase[row].imag();
      }
    }
}

/// Calls f.operator()<Layout, double>() for a field of clover blocks.
template <class F>
void dispatch_blocks(const SpinorField& blocks, const F& f) {
  dispatch_double(blocks.spec().backend, blocks.layout().lanes(), [&]<class Layout, class Storage>() {
    if constexpr (!std::is_same_v<Layout, GpuLayout>) f.template operator()<Layout, Storage>();
  });
}
}  // namespace

SpinorField clover_term(const GaugeField& U, const WilsonParams& params) {
  require_all_directions(U.geometry(), "the clover term");
  require_double(U.precision());
  U.update_halo();
  FieldSpec spec;
  spec.reals = 72;
  spec.lanes = U.lanes();
  spec.backend = U.backend();
  SpinorField A(U.lattice_ptr(), spec);
  CloverTermCall call;
  call.links = U.raw();
  call.tables = U.tables();
  call.out[0] = A.raw(0);
  call.out[1] = A.raw(1);
  call.even_odd =
      U.lattice().site_tables(A.layout_ptr(), U.backend())->even_odd_blocks(U.site_tables().layout());
  call.diagonal = params.diagonal();
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = mu + 1; nu < Nd; ++nu)
      call.coefficient[mu][nu] = nu == 3 ? params.csw_temporal : params.csw_spatial / params.xi0;
  set_gamma_products(call);
  dispatch_blocks(A, [&]<class Layout, class Storage>() {
    launch_clover_term<Layout, Storage>(call, U.site_tables().inner());
  });
  return A;
}

namespace {
/// Throws NumericError for a singular block, which has no finite inverse. Collective.
void require_invertible(const SpinorField& inverse, const WilsonParams& params) {
  if (std::isfinite(norm2(inverse))) return;
  throw NumericError(
      message("the clover term is singular on some sites: mass = ", params.mass,
              " makes its diagonal 1 + 3 nu/xi0 + mass = ", params.diagonal(),
              ", and csw times the field strength does not lift that, or links are not finite"));
}
}  // namespace

SpinorField clover_inverse(const SpinorField& clover, const WilsonParams& params) {
  SpinorField inverse = SpinorField::like(clover);
  for (int parity = first_parity(clover.subset()); parity <= last_parity(clover.subset()); ++parity)
    dispatch_blocks(clover, [&]<class Layout, class Storage>() {
      launch_clover_inverse<Layout, double>(inverse.raw(parity), clover.raw(parity),
                                            SiteRange(clover.layout().blocks()));
    });
  require_invertible(inverse, params);
  return inverse;
}

double clover_log_determinant(const SpinorField& clover, int parity) {
  ExactSum sum;
  dispatch_blocks(clover, [&]<class Layout, class Storage>() {
    launch_clover_determinant<Layout, Storage>(clover.raw(parity), SiteRange(clover.layout().blocks()), &sum);
  });
  clover.lattice().communicator().sum(&sum, 1);
  const double log_determinant = sum.value();
  if (!std::isfinite(log_determinant))
    throw NumericError(
        "clover term: pivots of some sites are not positive; its determinant has no logarithm");
  return log_determinant;
}

TwistedInverse twisted_clover_inverse(const SpinorField& clover, const WilsonParams& params) {
  TwistedInverse inverse{SpinorField::like(clover), SpinorField::like(clover)};
  for (int parity = first_parity(clover.subset()); parity <= last_parity(clover.subset()); ++parity)
    dispatch_blocks(clover, [&]<class Layout, class Storage>() {
      launch_twisted_clover_inverse<Layout, double>(inverse.B.raw(parity), inverse.C.raw(parity),
                                                    clover.raw(parity), params.twisted_mass,
                                                    SiteRange(clover.layout().blocks()));
    });
  require_invertible(inverse.C, params);
  return inverse;
}

}  // namespace trellis
