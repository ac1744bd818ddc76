/// Baryons have the form `full` here.
#include <map>

#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/baryon_products.hpp"
#include "trellis/measure/baryon_sums.hpp"

namespace trellis {

namespace {
/// Returns the diquark of the conjugate: q^dagger = qbar gamma_t, so (q0^T G q1)^dagger = qbar0 (gamma_t G*
/// gamma_t^T) qbar1 up to the order that the colour tensor makes up for.
GammaMatrix conjugate_diquark(GammaMatrix G) {
  for (auto& phase : G.phase) phase = std::conj(phase);
  return gamma_mu(3) * G * transpose(gamma_mu(3));
}

/// Returns M(g, d) of one pairing, summed over time slices, in 16 rows.
CorrelatorTable spin_matrix_sums(const ThreeQuarks& quarks, const GammaMatrix& sink,
                                 const GammaMatrix& source, const std::array<int, 3>& pairing,
                                 const Momenta& momenta) {
  const SpinorField& first = quarks[0]->columns();
  auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    OctetProductsCall call;
    for (size_t i = 0; i < 3; ++i) {
      call.quarks[i] = quarks[i]->columns().raw(parity);
      call.pairing[i] = pairing[i];
    }
    call.sink = to_sparse(sink);
    call.source = to_sparse(conjugate_diquark(source));
    call.out = out;
    call.first_block = blocks.begin;
    dispatch_unquantised(
        first.spec().backend, first.precision(), first.layout().lanes(),
        [&]<class Layout, class Storage>() { launch_octet_products<Layout, Storage>(call, blocks); });
  };
  CorrelatorTable M = time_slice_sums(first, octet_components, momenta, quarks[0]->source_at(), write);
  remove_boundary_phase(M, quarks);
  return M;
}

/// Adds: to += coefficient tr[P M].
void add_projected(CorrelatorTable& to, const std::vector<SpinMatrix>& projectors, double coefficient,
                   const CorrelatorTable& M) {
  for (int row = 0; row < to.rows; ++row)
    for (int p = 0; p < to.momenta; ++p)
      for (int t = 0; t < to.times; ++t) {
        std::complex<double> trace = 0;
        for (int g = 0; g < 4; ++g)
          for (int d = 0; d < 4; ++d) trace += projectors[row][d][g] * M.at(4 * g + d, p, t);
        to.at(row, p, t) += coefficient * trace;
      }
}

SpinMatrix product(const SpinMatrix& a, const SpinMatrix& b) {
  SpinMatrix r{};
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 4; ++k) r[i][j] += a[i][k] * b[k][j];
  return r;
}
}  // namespace

SpinMatrix spin_matrix(const GammaMatrix& gamma) {
  SpinMatrix m{};
  for (size_t row = 0; row < 4; ++row) m[row][size_t(gamma.column[row])] = gamma.phase[row];
  return m;
}

SpinMatrix parity_projector(int parity) {
  TRELLIS_REQUIRE(parity == 1 || parity == -1, "parity ", parity, " is not 1 or -1");
  SpinMatrix P = spin_matrix(0.5 * double(parity) * gamma_mu(3));
  for (size_t i = 0; i < 4; ++i) P[i][i] += 0.5;
  return P;
}

SpinMatrix polarised_projector(int parity) {
  return product(parity_projector(parity), spin_matrix(-i1 * (gamma_mu(0) * gamma_mu(1))));
}

CorrelatorTable diquark_correlators(const BaryonQuarks& quarks, const DiquarkOperator& sink,
                                    const GammaMatrix& sink_diquark, const DiquarkOperator& source,
                                    const GammaMatrix& source_diquark,
                                    const std::vector<SpinMatrix>& projectors, const Momenta& momenta,
                                    const Insertion* insertion) {
  TRELLIS_REQUIRE(!sink.empty() && !source.empty() && !projectors.empty(),
                  "baryon correlator without operators or projectors");
  const ThreeQuarks any = three_quarks(quarks, sink.front().quarks);
  CorrelatorTable C(int(projectors.size()), int(momenta.size()), any[0]->geometry().lattice()[3]);
  // Flavours that share a propagator share their sums.
  std::map<std::pair<ThreeQuarks, std::array<int, 3>>, CorrelatorTable> sums;
  for (const DiquarkTerm& a : sink)
    for (const DiquarkTerm& b : source)
      for (const auto& pairing : permutations) {
        bool flavours_match = true;
        for (size_t i = 0; i < 3; ++i)
          flavours_match = flavours_match && a.quarks[i] == b.quarks[size_t(pairing[i])];
        if (!flavours_match) continue;
        for (const ThreeQuarks& three : inserted(three_quarks(quarks, a.quarks), a.quarks, insertion)) {
          auto& M = sums[{three, pairing}];
          if (M.rows == 0) M = spin_matrix_sums(three, sink_diquark, source_diquark, pairing, momenta);
          add_projected(C, projectors, a.coefficient * b.coefficient, M);
        }
      }
  return C;
}

CorrelatorTable octet_correlators(const BaryonQuarks& quarks, const std::vector<std::string>& baryons,
                                  const std::vector<SpinMatrix>& projectors, const Momenta& momenta,
                                  const GammaMatrix& diquark, const Insertion* insertion) {
  CorrelatorTable all;
  for (const std::string& name : baryons) {
    const DiquarkOperator B = diquark_operator(name);
    const CorrelatorTable C =
        diquark_correlators(quarks, B, diquark, B, diquark, projectors, momenta, insertion);
    if (all.rows == 0) all = CorrelatorTable(0, C.momenta, C.times);
    all.rows += C.rows;
    all.values.insert(all.values.end(), C.values.begin(), C.values.end());
  }
  return all;
}

size_t baryon_bytes(const Geometry& geometry, int momenta) {
  return time_slice_sums_bytes(geometry, projected_components, momenta);
}

}  // namespace trellis
