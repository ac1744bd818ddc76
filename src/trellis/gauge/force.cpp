#include "trellis/gauge/force.hpp"

#include <cmath>

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/momentum.hpp"

namespace trellis {

namespace {
/// Calls f.operator()<Layout, Storage>() for fields of algebra elements.
template <class F>
void dispatch_algebra(const AlgebraField& P, F&& f) {
  require_double(P.precision());
  dispatch_links(P.site_tables(), f);
}

void require_alike(const AlgebraField& P, const GaugeField& U) {
  TRELLIS_REQUIRE(P.is_stored_like(U), "algebra field and links have different site orders: ", P.lanes(),
                  " and ", U.lanes(), " lanes, backends ", name_of(P.backend()), " and ",
                  name_of(U.backend()), ", ", name_of(P.precision()), " and ", name_of(U.precision()));
}

SiteRange inner_sites(const AlgebraField& P) { return P.site_tables().inner(); }
}  // namespace

void add_force(AlgebraField& force, const LinkDerivative& G, const GaugeField& U, double coefficient) {
  require_alike(force, U);
  TRELLIS_REQUIRE(G.lanes() == U.lanes() && G.geometry() == U.geometry() && G.backend() == U.backend() &&
                      G.precision() == U.precision(),
                  "derivative and links have different site orders");
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_derivative_projection<Layout, Storage>(force.raw(), {U.raw(), U.tables()}, G.raw(), coefficient,
                                                  inner_sites(U));
  });
}

void set_random_momenta(AlgebraField& P, uint64_t seed, uint64_t stream, uint32_t trajectory) {
  const RandomMomentaCall call{P.raw(), P.site_tables().global_sites(), random_key(seed, stream), trajectory};
  dispatch_algebra(P, [&]<class Layout, class Storage>() {
    launch_random_momenta<Layout, Storage>(call, inner_sites(P));
  });
}

void drift(GaugeField& U, const AlgebraField& P, double step) {
  require_alike(P, U);
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_link_drift<Layout, Storage>({U.raw(), U.tables()}, P.raw(), step, inner_sites(U));
  });
  U.halo_is_stale();
}

void add(AlgebraField& out, double coefficient, const AlgebraField& in) {
  TRELLIS_REQUIRE(out.lanes() == in.lanes() && out.lattice().geometry() == in.lattice().geometry() &&
                      out.backend() == in.backend() && out.precision() == in.precision(),
                  "algebra fields have different site orders");
  dispatch_algebra(out, [&]<class Layout, class Storage>() {
    launch_algebra_axpy<Layout, Storage>(out.raw(), in.raw(), coefficient, inner_sites(out));
  });
}

double kinetic_energy(const AlgebraField& P) { return 0.5 * dot(P, P); }

ForceSize force_size(const AlgebraField& force) {
  double largest = 0;
  dispatch_algebra(force, [&]<class Layout, class Storage>() {
    largest = launch_algebra_maximum<Layout, Storage>(force.raw(), inner_sites(force));
  });
  const double links = 4 * double(force.lattice().volume());
  return {std::sqrt(dot(force, force) / links), std::sqrt(force.lattice().communicator().maximum(largest))};
}

}  // namespace trellis
