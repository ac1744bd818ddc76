#include "trellis/measure/mesons.hpp"

#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/meson_products.hpp"

namespace trellis {

namespace {
/// Returns Q[i][j][k][l] summed over time slices.
CorrelatorTable product_sums(const Propagator& quark, const Propagator& antiquark, const Momenta& momenta) {
  const SpinorField &S = quark.columns(), &A = antiquark.columns();
  TRELLIS_REQUIRE(S.lattice_ptr() == A.lattice_ptr() && S.spec() == A.spec(),
                  "quark and antiquark propagator differ in lattice or storage");
  TRELLIS_REQUIRE(quark.source_at() == antiquark.source_at(),
                  "quark and antiquark propagator have different sources: ", to_string(quark.source_at()),
                  " and ", to_string(antiquark.source_at()));
  auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    MesonProductsCall call;
    call.quark = S.raw(parity);
    call.antiquark = A.raw(parity);
    call.out = out;
    call.first_block = blocks.begin;
    dispatch_unquantised(
        S.spec().backend, S.precision(), S.layout().lanes(),
        [&]<class Layout, class Storage>() { launch_meson_products<Layout, Storage>(call, blocks); });
  };
  return time_slice_sums(S, meson_components, momenta, quark.source_at(), write);
}

/// z times one of 1, i, -1, -i is exact, and so are products of these.
std::complex<double> times_phase(std::complex<double> phase, std::complex<double> z) {
  return {phase.real() * z.real() - phase.imag() * z.imag(),
          phase.real() * z.imag() + phase.imag() * z.real()};
}

/// - tr[G1 S G2 S'^dagger] with G1 = gamma5 Gamma, G2 = gamma_t Gamma'^dagger gamma_t gamma5.
std::complex<double> combine(const CorrelatorTable& Q, const MesonPair& pair, int p, int t) {
  const GammaMatrix gamma5 = gamma_product(15), gamma_t = gamma_mu(3);
  const GammaMatrix G1 = gamma5 * pair.sink, G2 = gamma_t * adjoint(pair.source) * gamma_t * gamma5;
  std::complex<double> sum = 0;
  for (int k = 0; k < 4; ++k)      // sink spin of S'
    for (int j = 0; j < 4; ++j) {  // source spin of S
      const int component = 64 * G1.column[k] + 16 * j + 4 * k + G2.column[j];
      sum += times_phase(times_phase(G1.phase[k], G2.phase[j]), Q.at(component, p, t));
    }
  return -sum;
}
}  // namespace

CorrelatorTable meson_correlators(const Propagator& quark, const Propagator& antiquark,
                                  const std::vector<MesonPair>& pairs, const Momenta& momenta) {
  const CorrelatorTable Q = product_sums(quark, antiquark, momenta);
  CorrelatorTable C(int(pairs.size()), Q.momenta, Q.times);
  for (int row = 0; row < C.rows; ++row)
    for (int p = 0; p < C.momenta; ++p)
      for (int t = 0; t < C.times; ++t) C.at(row, p, t) = combine(Q, pairs[size_t(row)], p, t);
  return C;
}

CorrelatorTable all_meson_correlators(const Propagator& quark, const Propagator& antiquark,
                                      const Momenta& momenta) {
  std::vector<MesonPair> pairs;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) pairs.push_back({gamma_product(i), gamma_product(j)});
  return meson_correlators(quark, antiquark, pairs, momenta);
}

CorrelatorTable meson_correlator(const Propagator& quark, const Propagator& antiquark,
                                 const std::string& sink, const std::string& source, const Momenta& momenta) {
  return meson_correlators(quark, antiquark, {{gamma_by_name(sink), gamma_by_name(source)}}, momenta);
}

size_t meson_bytes(const Geometry& geometry, int momenta) {
  return time_slice_sums_bytes(geometry, meson_components, momenta);
}

}  // namespace trellis
