#include "trellis/measure/mesons.hpp"

#include <numeric>

#include "trellis/device/kernel_table.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/meson_products.hpp"

namespace trellis {

namespace {
/// These are the gamma matrices of - tr[G1 S G2 S'^dagger]: G1 = gamma5 Gamma, G2 = gamma_t Gamma'^dagger
/// gamma_t gamma5.
struct Trace {
  explicit Trace(const MesonPair& pair) {
    const GammaMatrix gamma5 = gamma_product(15), gamma_t = gamma_mu(3);
    G1 = gamma5 * pair.sink;
    G2 = gamma_t * adjoint(pair.source) * gamma_t * gamma5;
  }
  /// Returns the component that it takes for the sink spin k of S' and the source spin j of S.
  int component(size_t k, size_t j) const {
    return 64 * G1.column[k] + 16 * int(j) + 4 * int(k) + G2.column[j];
  }
  GammaMatrix G1, G2;
};

/// It lists the components of the products that some traces take, and where each stands among them.
struct Components {
  explicit Components(const std::vector<Trace>& traces) : row(meson_components, -1) {
    for (const Trace& trace : traces)
      for (size_t k = 0; k < 4; ++k)
        for (size_t j = 0; j < 4; ++j) row[size_t(trace.component(k, j))] = 0;
    for (int c = 0; c < meson_components; ++c)
      if (row[size_t(c)] == 0) list.push_back(c);
    if (list.size() > meson_components / 2) {  // all of them share what they read
      list.resize(meson_components);
      std::iota(list.begin(), list.end(), 0);
    }
    for (size_t n = 0; n < list.size(); ++n) row[size_t(list[n])] = int(n);
  }
  bool are_all() const { return list.size() == meson_components; }
  std::vector<int32_t> list;
  std::vector<int> row;
};

/// Returns components of Q[i][j][k][l] summed over time slices.
CorrelatorTable product_sums(const Propagator& quark, const Propagator& antiquark,
                             const Components& components, const Momenta& momenta) {
  const SpinorField &S = quark.columns(), &A = antiquark.columns();
  TRELLIS_REQUIRE(S.lattice_ptr() == A.lattice_ptr() && S.spec() == A.spec(),
                  "quark and antiquark propagator differ in lattice or storage");
  TRELLIS_REQUIRE(quark.source_at() == antiquark.source_at(),
                  "quark and antiquark propagator have different sources: ", to_string(quark.source_at()),
                  " and ", to_string(antiquark.source_at()));
  const KernelTable<int32_t> list(components.list, S.spec().backend);
  auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    MesonProductsCall call;
    call.quark = S.raw(parity);
    call.antiquark = A.raw(parity);
    call.out = out;
    call.first_block = blocks.begin;
    call.components = components.are_all() ? nullptr : list.data();
    call.count = int(list.size());
    dispatch_unquantised(
        S.spec().backend, S.precision(), S.layout().lanes(),
        [&]<class Layout, class Storage>() { launch_meson_products<Layout, Storage>(call, blocks); });
  };
  return time_slice_sums(S, int(components.list.size()), momenta, quark.source_at(), write);
}

/// Returns phase z: a product with one of 1, i, -1, -i is exact, and so are products of these.
std::complex<double> times_phase(std::complex<double> phase, std::complex<double> z) {
  return {phase.real() * z.real() - phase.imag() * z.imag(),
          phase.real() * z.imag() + phase.imag() * z.real()};
}

std::complex<double> combine(const CorrelatorTable& Q, const Components& components, const Trace& trace,
                             int p, int t) {
  std::complex<double> sum = 0;
  for (size_t k = 0; k < 4; ++k)
    for (size_t j = 0; j < 4; ++j)
      sum += times_phase(times_phase(trace.G1.phase[k], trace.G2.phase[j]),
                         Q.at(components.row[size_t(trace.component(k, j))], p, t));
  return -sum;
}
}  // namespace

CorrelatorTable meson_correlators(const Propagator& quark, const Propagator& antiquark,
                                  const std::vector<MesonPair>& pairs, const Momenta& momenta) {
  if (pairs.empty()) return CorrelatorTable(0, int(momenta.size()), quark.geometry().lattice()[3]);
  const std::vector<Trace> traces(pairs.begin(), pairs.end());
  const Components components(traces);
  const CorrelatorTable Q = product_sums(quark, antiquark, components, momenta);
  CorrelatorTable C(int(pairs.size()), Q.momenta, Q.times);
  for_each_index(C.rows, [&](int row) {
    for (int p = 0; p < C.momenta; ++p)
      for (int t = 0; t < C.times; ++t) C.at(row, p, t) = combine(Q, components, traces[size_t(row)], p, t);
  });
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
