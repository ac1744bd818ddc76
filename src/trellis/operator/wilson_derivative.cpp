#include "trellis/operator/wilson_derivative.hpp"

#include "trellis/algebra/gamma.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/field/link_dispatch.hpp"
#include "trellis/kernels/dirac/wilson_derivative.hpp"

namespace trellis {

namespace {
constexpr int pair_slots = 3, insertion_slots = 6;  // they have 24 and 12 reals: 72 a site, like four links

void set_clover(CloverInsertionCall& call, const WilsonParams& params, double factor) {
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = mu + 1; nu < Nd; ++nu) {
      call.coefficient[mu][nu] = factor * (nu == 3 ? params.csw_temporal : params.csw_spatial / params.xi0);
      const GammaMatrix g = gamma_mu(mu) * gamma_mu(nu);
      for (size_t row = 0; row < 4; ++row) {
        const int column = g.column[row];  // it has the same chirality
        double* entry = call.gamma[mu][nu][row / 2][row % 2][column % 2];
        entry[0] = g.phase[row].real();
        entry[1] = g.phase[row].imag();
      }
    }
}
}  // namespace

void WilsonLinkDerivative::begin(const GaugeField& V) {
  const bool is_new = !V_ || V_->lattice_ptr() != V.lattice_ptr() || !V_->is_stored_like(V);
  V_ = V;
  if (is_new) {
    pair_.emplace(V);
    insertion_.emplace(V);
    make_tables();
  }
  if (params_.has_clover()) insertion_->set_zero();
}

/// Makes tables of the weights, which kernels then read for all forces.
void WilsonLinkDerivative::make_tables() {
  require_double(V_->precision());
  const ExtendedLayout& layout = V_->layout();
  FieldSpec spec;
  spec.lanes = V_->lanes();
  spec.backend = V_->backend();
  const SpinorField like(V_->lattice_ptr(), spec);
  tables_ = V_->lattice().site_tables(like.layout_ptr(), V_->backend());
  const Geometry& g = V_->geometry();
  const SiteStorage storage{V_->precision(), V_->backend(), V_->lanes(), layout.blocks(), 1, 8};
  Memory weights(storage.bytes());
  for (const int32_t block : layout.inner())
    for (int lane = 0; lane < V_->lanes(); ++lane) {
      const Coord x = g.to_global(layout.coord(block, lane));
      double reals[8];
      for (int mu = 0; mu < Nd; ++mu) {
        const std::complex<double> phase =
            x[mu] == V_->lattice().extents()[mu] - 1 ? params_.boundary[size_t(mu)] : 1.0;
        const std::complex<double> weight = -0.5 * (mu == 3 ? 1.0 : params_.nu / params_.xi0) * phase;
        reals[2 * mu] = weight.real();
        reals[2 * mu + 1] = weight.imag();
      }
      storage.set(weights.data(), block, lane, 0, reals);
    }
  weights_ = Memory(weights.bytes(), V_->backend());
  weights_.copy_from_host(weights.data(), weights.bytes());
}

void WilsonLinkDerivative::require_alike(const LinkDerivative& G) const {
  TRELLIS_REQUIRE(V_.has_value(), "begin() comes first");
  TRELLIS_REQUIRE(G.is_stored_like(*V_), "link derivative: G lies on ", name_of(G.backend()), " with ",
                  G.lanes(), " lanes, the links on ", name_of(V_->backend()), " with ", V_->lanes());
}

void WilsonLinkDerivative::add(LinkDerivative& G, const SpinorField& Y, const SpinorField& X, double c) {
  require_alike(G);
  TRELLIS_REQUIRE(X.spec() == Y.spec() && X.subset() == Subset::full && X.reals() == 24 &&
                      X.precision() == Precision::double_precision && X.layout().lanes() == V_->lanes() &&
                      X.spec().backend == V_->backend(),
                  "link derivative: spinors are full, in double, with the lanes of the links and where "
                  "these lie");
  const RawField pair{pair_->raw().data, nullptr, pair_slots};
  const SiteRange inner = V_->site_tables().inner();
  for (int rhs = 0; rhs < X.rhs(); ++rhs) {
    for (int parity = 0; parity < 2; ++parity) {
      const SpinorPairCall call{X.raw(parity), Y.raw(parity), rhs,
                                tables_->extended_blocks(V_->site_tables().layout(), parity), pair};
      dispatch_links(V_->site_tables(), [&]<class Layout, class Storage>() {
        launch_spinor_pair<Layout, Storage>(call, SiteRange(X.layout().blocks()));
      });
    }
    pair_->halo_is_stale();
    pair_->update_halo(1);
    WilsonDerivativeCall call;
    call.derivative = G.raw();
    call.pair = pair;
    call.weights = {weights_.data(), nullptr, 1};
    call.tables = V_->tables();
    call.coefficient = c;
    dispatch_links(V_->site_tables(), [&]<class Layout, class Storage>() {
      launch_wilson_derivative<Layout, Storage>(call, inner);
    });
    if (!params_.has_clover()) continue;
    CloverInsertionCall clover;
    clover.insertion = {insertion_->raw().data, nullptr, insertion_slots};
    clover.pair = pair;
    set_clover(clover, params_, c);
    dispatch_links(V_->site_tables(), [&]<class Layout, class Storage>() {
      launch_clover_insertion<Layout, Storage>(clover, inner);
    });
  }
  G.halo_is_stale();
}

void WilsonLinkDerivative::add_log_determinant(const SpinorField& inverse, int parity, double c) {
  TRELLIS_REQUIRE(V_.has_value(), "begin() comes first");
  TRELLIS_REQUIRE(inverse.reals() == 72 && inverse.precision() == Precision::double_precision &&
                      inverse.layout().lanes() == V_->lanes() && inverse.spec().backend == V_->backend(),
                  "link derivative: an inverse clover term in double with the lanes of the links and where "
                  "these lie");
  if (!params_.has_clover()) return;
  CloverInsertionCall call;
  call.insertion = {insertion_->raw().data, nullptr, insertion_slots};
  call.inverse = inverse.raw(parity);
  call.even_odd = tables_->even_odd_blocks(V_->site_tables().layout());
  call.parity = parity;
  set_clover(call, params_, c);
  dispatch_links(V_->site_tables(), [&]<class Layout, class Storage>() {
    launch_clover_insertion<Layout, Storage>(call, V_->site_tables().inner());
  });
}

void WilsonLinkDerivative::finish(LinkDerivative& G) {
  require_alike(G);
  if (params_.has_clover()) add_clover_part(G);
}

void WilsonLinkDerivative::add_clover_part(LinkDerivative& G) {
  V_->update_halo(1);
  insertion_->halo_is_stale();
  insertion_->update_halo(1);
  const CloverDerivativeCall call{
      {V_->raw(), V_->tables()}, G.raw(), {insertion_->raw().data, nullptr, insertion_slots}};
  dispatch_links(V_->site_tables(), [&]<class Layout, class Storage>() {
    launch_clover_derivative<Layout, Storage>(call, V_->site_tables().inner());
  });
  G.halo_is_stale();
}

/// Both spinors go in and their pair out, the pair and the weights in, and G in and out. With a clover term
/// the pair goes in and the insertions in and out for each right-hand side, and once the links, the
/// insertions and G go in and out.
double WilsonLinkDerivative::bytes(int rhs) const {
  const double spinors = 2 * 24 * 8, pair = pair_slots * 24 * 8, derivative = 2 * 72 * 8, weights = 8 * 8,
               insertion = insertion_slots * 9 * 8, links = 72 * 8;
  const double hop = spinors + 2 * pair + weights + derivative;
  if (!params_.has_clover()) return rhs * hop;
  return rhs * (hop + pair + 2 * insertion) + links + insertion + derivative;
}

double WilsonLinkDerivative::flops(int rhs) const {
  return rhs * wilson_derivative_flops + (params_.has_clover() ? clover_derivative_flops : 0.0);
}

}  // namespace trellis
