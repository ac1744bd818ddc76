#include "reference/mesons.hpp"

#include <cmath>
#include <numbers>

namespace trellis::reference {

std::complex<double> momentum_phase(const Coord& x, const Coord& source_at, const std::array<int, 3>& n,
                                    const Coord& extents) {
  double angle = 0;
  for (size_t k = 0; k < 3; ++k) angle -= 2 * std::numbers::pi * n[k] * (x[k] - source_at[k]) / extents[k];
  return std::polar(1.0, angle);
}

std::vector<std::complex<double>> meson(const Propagator& quark, const Propagator& antiquark,
                                        const GammaMatrix& sink, const GammaMatrix& source,
                                        const std::array<int, 3>& n, const Coord& source_at) {
  const Coord& L = quark.extents;
  const GammaMatrix gamma5 = gamma_product(15);
  // The sum is - tr[ G1 S G2 S'^dagger ] with G1 = gamma5 Gamma_sink, G2 = gamma_t Gamma_source^dagger
  // gamma_t gamma5.
  const GammaMatrix G1 = gamma5 * sink;
  const GammaMatrix G2 = gamma_mu(3) * adjoint(source) * gamma_mu(3) * gamma5;
  std::vector<std::complex<double>> C(size_t(L[3]), 0.0);
  for (int64_t site = 0; site < product(L); ++site) {
    const Coord x = site_coord(site, L);
    std::complex<double> trace = 0;
    for (int i = 0; i < Ns; ++i)      // i is the row of G1, and the sink spin of S'
      for (int j = 0; j < Ns; ++j) {  // j is the row of G2; its column is the source spin of S'
        const std::complex<double> phase = G1.phase[size_t(i)] * G2.phase[size_t(j)];
        for (int a = 0; a < Nc; ++a)
          for (int b = 0; b < Nc; ++b)
            trace += phase * quark.entry(site, G1.column[size_t(i)], a, j, b) *
                     std::conj(antiquark.entry(site, i, a, G2.column[size_t(j)], b));
      }
    C[size_t((x[3] - source_at[3] + L[3]) % L[3])] -= momentum_phase(x, source_at, n, L) * trace;
  }
  return C;
}

std::vector<double> propagator_norm(const Propagator& S, int source_time) {
  const Coord& L = S.extents;
  std::vector<double> C(size_t(L[3]), 0.0);
  for (int64_t site = 0; site < product(L); ++site) {
    const int t = (site_coord(site, L)[3] - source_time + L[3]) % L[3];
    for (const auto& column : S.columns) C[size_t(t)] += norm2(SpinorVector{column[size_t(site)]});
  }
  return C;
}

}  // namespace trellis::reference
