#include "bench/fields.hpp"

#include <cmath>
#include <vector>

namespace trellis::bench {

namespace {
double hashed(uint64_t n) {
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
  return double((n ^ (n >> 31)) >> 11) * 0x1p-52 - 1.0;
}

void normalise(std::complex<double>* row) {
  double s = 0;
  for (int j = 0; j < 3; ++j) s += std::norm(row[j]);
  for (int j = 0; j < 3; ++j) row[j] /= std::sqrt(s);
}
}  // namespace

void fill_random_su3(GaugeField& U, unsigned seed) {
  const Geometry& g = U.geometry();
  std::vector<double> canonical(U.canonical_size());
  for (int64_t site = 0; site < g.local_volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const uint64_t key = (uint64_t(g.global_index(site_coord(site, g.local()))) * 4 + unsigned(mu)) * 16 +
                           (uint64_t(seed) << 40);
      auto* u = reinterpret_cast<std::complex<double>*>(&canonical[size_t(site * 4 + mu) * 18]);
      for (int k = 0; k < 6; ++k)
        u[k] = {hashed(key * 2 + 2 * unsigned(k)), hashed(key * 2 + 2 * unsigned(k) + 1)};
      normalise(u);
      std::complex<double> overlap = 0;
      for (int j = 0; j < 3; ++j) overlap += std::conj(u[j]) * u[3 + j];
      for (int j = 0; j < 3; ++j) u[3 + j] -= overlap * u[j];
      normalise(u + 3);
      for (int j = 0; j < 3; ++j) {
        const int k = (j + 1) % 3, l = (j + 2) % 3;
        u[6 + j] = std::conj(u[k] * u[3 + l] - u[l] * u[3 + k]);
      }
    }
  U.from_canonical(canonical.data());
}

void fill(SpinorField& field) {
  const Geometry& g = field.geometry();
  const auto reals = size_t(field.reals());
  std::vector<double> canonical(size_t(g.local_volume()) * reals);
  for (int slot = 0; slot < field.slots(); ++slot) {
    for (int64_t site = 0; site < g.local_volume(); ++site)
      for (size_t i = 0; i < reals; ++i)
        canonical[size_t(site) * reals + i] = std::sin(
            1.0 + 0.37 * double(g.global_index(site_coord(site, g.local())) % 1009) + double(i) + 5 * slot);
    field.from_canonical(canonical.data(), slot);
  }
}

reference::Gauge to_reference(const GaugeField& U) {
  const Coord& extents = U.geometry().lattice();
  reference::Gauge links{extents, std::vector<ColorMatrix<double>>(size_t(4 * product(extents)))};
  U.to_canonical(reinterpret_cast<double*>(links.links.data()));
  return links;
}

}  // namespace trellis::bench
