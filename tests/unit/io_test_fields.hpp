#pragma once
/// The tests of io/ take links of SU(3) that depend on the global site only, and files as bytes.
#include <unistd.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/field/gauge_field.hpp"

namespace trellis::testing_io {

/// Returns a random matrix of SU(3), by Gram-Schmidt, for one site and direction.
inline Link random_link(int64_t global_site, int mu) {
  std::mt19937_64 generator(uint64_t(global_site) * 4 + uint64_t(mu) + 12345);
  const auto uniform = [&] { return double(generator() >> 11) / 9007199254740992.0 - 0.5; };
  std::complex<double> a[3], b[3];
  for (auto& x : a) x = {uniform(), uniform()};
  for (auto& x : b) x = {uniform(), uniform()};
  const auto normalise = [](std::complex<double>* v) {
    const double norm = std::sqrt(std::norm(v[0]) + std::norm(v[1]) + std::norm(v[2]));
    for (int i = 0; i < 3; ++i) v[i] /= norm;
  };
  normalise(a);
  for (int pass = 0; pass < 2; ++pass) {
    const std::complex<double> overlap =
        std::conj(a[0]) * b[0] + std::conj(a[1]) * b[1] + std::conj(a[2]) * b[2];
    for (int i = 0; i < 3; ++i) b[i] -= overlap * a[i];
    normalise(b);
  }
  Link U;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    U[size_t(i)] = a[i];
    U[size_t(3 + i)] = b[i];
    U[size_t(6 + i)] = std::conj(a[j] * b[k] - a[k] * b[j]);
  }
  return U;
}

inline GaugeField random_field(const LatticePtr& lattice) {
  GaugeField U(lattice);
  const Geometry& g = lattice->geometry();
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const Coord x = site_coord(site, g.local());
    for (int mu = 0; mu < Nd; ++mu) U.set_link(x, mu, random_link(g.global_index(x), mu));
  }
  return U;
}

inline LatticePtr lattice_of_one(const Coord& extents) {
  return make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
}

inline std::vector<double> canonical(const GaugeField& U) {
  std::vector<double> links(U.canonical_size());
  U.to_canonical(links.data());
  return links;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(bytes.size()));
}

inline bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Returns a name in the folder for temporary files.
inline std::string temporary_name(const std::string& name, int process) {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder ? folder : "/tmp") + "/trellis_test_" + std::to_string(process) + "_" + name;
}

/// Returns the same name on all ranks of world().
inline std::string common_name(const std::string& name) {
  int process = int(::getpid());
  world()->broadcast(&process, sizeof process, 0);
  return temporary_name(name, process);
}

/// This class holds such a name; what is there under it is removed at the end.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& name) : path_{temporary_name(name, int(::getpid()))} {}
  ~TemporaryPath() {
    std::remove(path_.c_str());
    std::remove((path_ + ".partial").c_str());
  }
  const std::string& str() const { return path_; }

 private:
  std::string path_;
};

}  // namespace trellis::testing_io
