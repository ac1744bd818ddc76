#include "trellis/operator/clover_field.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trellis/algebra/gamma.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/field/storage/host_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
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
        const int column = g.column[row];  // of the same chirality
        double* entry = call.gamma[mu][nu][row / 2][row % 2][column % 2];
        entry[0] = g.phase[row].real();
        entry[1] = g.phase[row].imag();
      }
    }
}

/// Returns, for each extended block, even-odd block << 1 | parity.
std::vector<int32_t> even_odd_blocks(const ExtendedLayout& from, const SiteLayout& to) {
  std::vector<int32_t> table(from.blocks(), -1);
  for (const int32_t block : from.inner()) {
    const SitePosition at = to.position(from.coord(block, 0));
    table[block] = at.block << 1 | at.parity;
  }
  return table;
}
}  // namespace

namespace {
SpinorField clover_term_on_host(const GaugeField& U, const WilsonParams& params) {
  require_all_directions(U.geometry(), "the clover term");
  U.update_halo();
  FieldSpec spec;
  spec.reals = 72;
  spec.lanes = U.lanes();
  SpinorField A(U.lattice_ptr(), spec);
  TRELLIS_REQUIRE(A.layout().lane_extents() == U.layout().lane_extents(), "clover term: lane splits differ");
  const std::vector<int32_t> table = even_odd_blocks(U.layout(), A.layout());
  CloverTermCall call;
  call.links = U.raw();
  call.tables = U.tables();
  call.out[0] = A.raw(0);
  call.out[1] = A.raw(1);
  call.even_odd = table.data();
  call.diagonal = params.diagonal();
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = mu + 1; nu < Nd; ++nu)
      call.coefficient[mu][nu] = nu == 3 ? params.csw_temporal : params.csw_spatial / params.xi0;
  set_gamma_products(call);
  dispatch_on_host(U.lanes(), [&]<class Layout, class Storage>() {
    launch_clover_term<Layout, double>(call, SiteRange(U.layout().inner()));
  });
  return A;
}
}  // namespace

SpinorField clover_term(const GaugeField& U, const WilsonParams& params) {
  return on_host(U, [&](const GaugeField& links) { return clover_term_on_host(links, params); });
}

namespace {
/// A singular block has no finite inverse. Collective.
void require_invertible(const SpinorField& inverse, const WilsonParams& params) {
  const size_t reals = size_t(inverse.layout().blocks()) * inverse.layout().lanes() * inverse.reals();
  bool is_finite = true;
  for (int parity = first_parity(inverse.subset()); parity <= last_parity(inverse.subset()); ++parity) {
    const double* values = static_cast<const double*>(inverse.raw(parity).data);
    is_finite = is_finite && std::all_of(values, values + reals, [](double v) { return std::isfinite(v); });
  }
  if (!inverse.lattice().communicator().any(!is_finite)) return;
  throw NumericError(
      message("the clover term is singular on some sites: mass = ", params.mass,
              " makes its diagonal 1 + 3 nu/xi0 + mass = ", params.diagonal(),
              ", and csw times the field strength does not lift that, or links are not finite"));
}
}  // namespace

SpinorField clover_inverse(const SpinorField& clover, const WilsonParams& params) {
  SpinorField inverse = SpinorField::like(clover);
  for (int parity = first_parity(clover.subset()); parity <= last_parity(clover.subset()); ++parity)
    dispatch_on_host(clover.layout().lanes(), [&]<class Layout, class Storage>() {
      launch_clover_inverse<Layout, double>(inverse.raw(parity), clover.raw(parity),
                                            SiteRange(clover.layout().blocks()));
    });
  require_invertible(inverse, params);
  return inverse;
}

namespace {
/// Returns log det of a hermitian positive 6x6 block (its 36 reals as stored) by Cholesky's elimination.
double log_determinant(const double* a) {
  std::complex<double> L[6][6];
  double log_det = 0;
  for (int j = 0; j < 6; ++j) {
    double d = a[j];
    for (int k = 0; k < j; ++k) d -= std::norm(L[j][k]);
    if (!(d > 0))
      throw NumericError(
          message("clover term: pivot ", d, " is not positive; its determinant has no logarithm"));
    log_det += std::log(d);
    const double root = std::sqrt(d);
    for (int i = j + 1; i < 6; ++i) {
      const int at = 6 + 2 * (i * (i - 1) / 2 + j);
      std::complex<double> sum(a[at], a[at + 1]);
      for (int k = 0; k < j; ++k) sum -= L[i][k] * std::conj(L[j][k]);
      L[i][j] = sum / root;
    }
  }
  return log_det;
}
}  // namespace

double clover_log_determinant(const SpinorField& clover, int parity) {
  ExactSum sum;
  std::string error;
  for (int block = 0; block < clover.layout().blocks() && error.empty(); ++block)
    for (int lane = 0; lane < clover.layout().lanes() && error.empty(); ++lane) {
      double reals[72];
      clover.get_site({parity, block, lane}, 0, reals);
      try {
        sum.add(log_determinant(reals) + log_determinant(reals + 36));
      } catch (const NumericError& found) {
        error = found.what();
      }
    }
  if (clover.lattice().communicator().any(!error.empty()))
    throw NumericError(error.empty() ? "clover term: not positive on another rank" : error);
  clover.lattice().communicator().sum(&sum, 1);
  return sum.value();
}

TwistedInverse twisted_clover_inverse(const SpinorField& clover, const WilsonParams& params) {
  TwistedInverse inverse{SpinorField::like(clover), SpinorField::like(clover)};
  for (int parity = first_parity(clover.subset()); parity <= last_parity(clover.subset()); ++parity)
    dispatch_on_host(clover.layout().lanes(), [&]<class Layout, class Storage>() {
      launch_twisted_clover_inverse<Layout, double>(inverse.B.raw(parity), inverse.C.raw(parity),
                                                    clover.raw(parity), params.twisted_mass,
                                                    SiteRange(clover.layout().blocks()));
    });
  require_invertible(inverse.C, params);
  return inverse;
}

}  // namespace trellis
