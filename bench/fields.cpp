#include "bench/fields.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trellis/comm/communicator.hpp"

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

void set_point_sources(SpinorField& b) {
  const Geometry& g = b.geometry();
  std::vector<double> reals(24, 0.0);
  if (!g.owns({0, 0, 0, 0})) return;
  for (int rhs = 0; rhs < b.rhs(); ++rhs) {
    std::fill(reals.begin(), reals.end(), 0.0);
    reals[size_t(2 * (rhs % 12))] = 1.0;
    b.set_site(b.layout().position(g.to_local({0, 0, 0, 0})), rhs, reals.data());
  }
}

void fill(SpinorField& field, double phase) {
  const Geometry& g = field.geometry();
  const auto reals = size_t(field.reals());
  std::vector<double> canonical(size_t(g.local_volume()) * reals);
  for (int slot = 0; slot < field.slots(); ++slot) {
    for (int64_t site = 0; site < g.local_volume(); ++site)
      for (size_t i = 0; i < reals; ++i)
        canonical[size_t(site) * reals + i] = std::sin(
            phase + 0.37 * double(g.global_index(site_coord(site, g.local())) % 1009) + double(i) + 5 * slot);
    field.from_canonical(canonical.data(), slot);
  }
}

std::vector<double> gathered(const Geometry& geometry, const std::vector<double>& local, size_t reals) {
  Communicator& comm = *world();
  std::vector<double> all(size_t(product(geometry.lattice())) * reals);
  std::vector<int64_t> own(size_t(geometry.local_volume()));
  for (size_t site = 0; site < own.size(); ++site)
    own[site] = geometry.global_index(site_coord(int64_t(site), geometry.local()));
  for (int rank = 0; rank < comm.size(); ++rank) {  // the parts of all ranks are of one size
    std::vector<int64_t> index = own;
    std::vector<double> part = local;
    comm.broadcast(index.data(), index.size() * sizeof(int64_t), rank);
    comm.broadcast(part.data(), part.size() * sizeof(double), rank);
    for (size_t site = 0; site < index.size(); ++site)
      std::copy_n(&part[site * reals], reals, &all[size_t(index[site]) * reals]);
  }
  return all;
}

double sum_over_ranks(double value) {
  double sum = 0;
  for (int rank = 0; rank < world()->size(); ++rank) {
    double part = value;
    world()->broadcast(&part, sizeof(part), rank);
    sum += part;
  }
  return sum;
}

reference::Gauge to_reference(const GaugeField& U) {
  std::vector<double> local(U.canonical_size());
  U.to_canonical(local.data());
  const std::vector<double> all = gathered(U.geometry(), local, 72);
  reference::Gauge links{U.geometry().lattice(), std::vector<ColorMatrix<double>>(all.size() / 18)};
  std::memcpy(static_cast<void*>(links.links.data()), all.data(), all.size() * sizeof(double));
  return links;
}

double relative_error(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace trellis::bench
