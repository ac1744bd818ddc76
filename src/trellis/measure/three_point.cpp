#include "trellis/measure/three_point.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/on_device.hpp"
#include "trellis/kernels/contract/nucleon_sink.hpp"
#include "trellis/measure/mesons.hpp"

namespace trellis {

namespace {
using Number = std::complex<double>;

SpinColourMatrix site_matrix(const SpinorField& columns, const SitePosition& at) {
  SpinColourMatrix S;
  for (int column = 0; column < 12; ++column) {
    double psi[24];
    columns.get_site(at, column, psi);
    for (int i = 0; i < 12; ++i) S.at(i, column) = {psi[2 * i], psi[2 * i + 1]};
  }
  return S;
}

/// The weights are G_{alpha beta} Gbar_{alpha' beta'} P_{delta gamma}.
std::vector<NucleonSpins> nucleon_spins(const SpinMatrix& P) {
  const GammaMatrix G = octet_diquark();
  GammaMatrix conjugate = G;
  for (auto& phase : conjugate.phase) phase = std::conj(phase);
  const GammaMatrix bar = gamma_mu(3) * conjugate * transpose(gamma_mu(3));
  std::vector<NucleonSpins> all;
  for (int alpha = 0; alpha < 4; ++alpha)
    for (int alpha_source = 0; alpha_source < 4; ++alpha_source)
      for (int gamma = 0; gamma < 4; ++gamma)
        for (int delta = 0; delta < 4; ++delta) {
          const size_t a = size_t(alpha), b = size_t(alpha_source);
          const Number weight = G.phase[a] * bar.phase[b] * P[size_t(delta)][size_t(gamma)];
          if (weight != 0.0)
            all.push_back({alpha, G.column[a], gamma, alpha_source, bar.column[b], delta, weight.real(),
                           weight.imag()});
        }
  return all;
}

/// Fills the columns at the sites of a time slice.
void fill_on_host(SpinorField& out, const SpinorField& up, const SpinorField& down,
                  const NucleonSinkShape& shape, int sink_time) {
  const Geometry& g = out.geometry();
  for_each_index(int(g.local_volume()), [&](int site) {
    const Coord x = site_coord(site, g.local()), global = g.to_global(x);
    if (global[3] != sink_time) return;
    const SpinColourMatrix U = site_matrix(up, up.layout().position(x));
    const SpinColourMatrix D = &up == &down ? U : site_matrix(down, down.layout().position(x));
    SpinColourMatrix K;
    nucleon_sink(K, U, D, shape);
    const Complex<double> phase = rounded_product(shape.wrapped, shape.phases(0, &global[0]));
    for (int column = 0; column < 12; ++column) {
      double b[24];
      nucleon_sink_column(b, &K.at(column, 0), phase);
      out.set_site(out.layout().position(x), column, b);
    }
  });
}

/// Does the same by a kernel: a time slice is a range of sites of each parity.
template <class Layout>
void fill_on_device(SpinorField& out, const SpinorField& up, const SpinorField& down,
                    const NucleonSinkShape& shape, int sink_time) {
  const Geometry& g = out.geometry();
  const int time = sink_time - g.origin()[3], slice = out.layout().blocks() / g.local()[3];
  if (time < 0 || time >= g.local()[3]) return;
  SiteRange sites((time + 1) * slice);
  sites.begin = time * slice;
  for (int parity = 0; parity < 2; ++parity) {
    const NucleonSinkCall call{up.raw(parity), down.raw(parity), out.raw(parity), shape,
                               SiteCoordinates(g, parity)};
    if (up.precision() == Precision::double_precision)
      launch_nucleon_sink<Layout, double>(call, sites);
    else
      launch_nucleon_sink<Layout, float>(call, sites);
  }
}
}  // namespace

Source nucleon_sequential_source(const Propagator& up, const Propagator& down, const NucleonSink& sink,
                                 const SinkSmearing* smearing) {
  const Propagator& S = up;
  const Geometry& g = S.geometry();
  const int Lt = g.lattice()[3];
  TRELLIS_REQUIRE(
      g == down.geometry() && S.source_at() == down.source_at() && S.boundary()[3] == down.boundary()[3],
      "up and down propagators of different lattices, sources or boundary phases");
  TRELLIS_REQUIRE(sink.separation >= 0 && sink.separation < Lt, "sink at ", sink.separation,
                  " slices from the source is not in 0..", Lt - 1);
  TRELLIS_REQUIRE(sink.up_and_down[0] != 0.0 || sink.up_and_down[1] != 0.0,
                  "the current acts on neither up nor down quarks");
  const auto z = S.boundary()[3];
  const bool has_wrapped = S.source_at()[3] + sink.separation >= Lt;
  const Number wrapped = has_wrapped && z != 0.0 ? z * z * z : 1.0;
  const int sink_time = (S.source_at()[3] + sink.separation) % Lt;
  const SpinorField &u = up.columns(), &d = down.columns();
  TRELLIS_REQUIRE(u.spec() == d.spec(), "up and down propagators differ in storage or device");
  const MomentumPhases phases(g.lattice(), {sink.momentum}, S.source_at());
  const std::vector<NucleonSpins> spins = nucleon_spins(sink.projector);
  FieldSpec spec;
  spec.rhs = 12;
  spec.backend = u.spec().backend;
  Source source{SpinorField(S.lattice_ptr(), spec), S.source_at(),
                S.description() + message(", sequential from the sink at ", sink.separation)};
  const DevicePhases table(phases, spec.backend);
  const KernelTable<NucleonSpins> spin_table(spins, spec.backend);
  const NucleonSinkShape shape{spin_table.data(),   int(spin_table.size()), sink.up_and_down[0],
                               sink.up_and_down[1], table.table(),          {wrapped.real(), wrapped.imag()}};
  const bool is_done = on_device(
      spec.backend, [&]<class Layout>() { fill_on_device<Layout>(source.columns, u, d, shape, sink_time); });
  if (!is_done) fill_on_host(source.columns, u, d, shape, sink_time);
  if (smearing) smear_gaussian(source.columns, *smearing->links, smearing->smearing, sink_time);
  return source;
}

/// The meson contraction - tr[Gamma S Gamma' gamma5 Y^dagger gamma5] with Gamma' = gamma_t gamma5 gamma_t =
/// -gamma5 is what is wanted; its phase has the other sign.
CorrelatorTable nucleon_three_point(const Propagator& sequential, const Propagator& S,
                                    const std::vector<GammaMatrix>& currents,
                                    const Momenta& momentum_transfers) {
  std::vector<MesonPair> pairs;
  for (const GammaMatrix& current : currents) pairs.push_back({current, gamma_product(15)});
  Momenta reversed = momentum_transfers;
  for (Momentum& n : reversed)
    for (int& k : n) k = -k;
  return meson_correlators(S, sequential, pairs, reversed);
}

}  // namespace trellis
