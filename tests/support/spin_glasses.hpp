#pragma once
/// Spin glasses come from a hash, and the same ones go to the reference code.
#include <cmath>
#include <vector>

#include "reference/spin_glass.hpp"
#include "trellis/glass/spin_glass.hpp"

namespace trellis::test {

/// Returns a number in [0, 1) for every n, of 32 bits.
inline double hashed(uint64_t n) {
  uint64_t h = (n * 2654435761u + 12345u) & 0xffffffffu;
  h ^= h >> 16;
  h = (h * 2246822519u) & 0xffffffffu;
  h ^= h >> 13;
  return double(h) / 0x1p32;
}

enum class HashedCouplings { ferromagnet, plus_minus, uniform };

inline double hashed_coupling(HashedCouplings kind, uint64_t bond) {
  const double w = hashed(bond);
  if (kind == HashedCouplings::ferromagnet) return 1;
  return kind == HashedCouplings::uniform ? 2 * w - 1 : w < 0.5 ? 1 : -1;
}

/// Makes spins and couplings of the whole lattice; every `turn` has other spins.
inline reference::SpinGlass hashed_glass(const Coord& extents, HashedCouplings kind, uint64_t turn = 0) {
  reference::SpinGlass glass;
  glass.extents = extents;
  for (uint64_t site = 0; site < uint64_t(product(extents)); ++site) {
    reference::Spin S;
    double norm = 0;
    for (uint64_t a = 0; a < 3; ++a) {
      S[a] = hashed(1000003 + 3 * site + a + 7919 * turn) - 0.5;
      norm += S[a] * S[a];
    }
    for (double& s : S) s /= std::sqrt(norm);
    glass.spins.push_back(S);
    glass.couplings.push_back({hashed_coupling(kind, 3 * site), hashed_coupling(kind, 3 * site + 1),
                               hashed_coupling(kind, 3 * site + 2)});
  }
  return glass;
}

/// Returns this rank's part of numbers of the whole lattice.
inline std::vector<double> part_of(const std::vector<std::array<double, 3>>& whole,
                                   const Geometry& geometry) {
  std::vector<double> part;
  for (int64_t i = 0; i < geometry.local_volume(); ++i) {
    const auto& values = whole[size_t(geometry.global_index(site_coord(i, geometry.local())))];
    part.insert(part.end(), values.begin(), values.end());
  }
  return part;
}

inline SpinGlass make_glass(const LatticePtr& lattice, const reference::SpinGlass& from, SpinGlassSpec spec,
                            bool may_be_signs = true) {
  SpinGlass glass(lattice, spec);
  glass.set_couplings(part_of(from.couplings, lattice->geometry()).data(), may_be_signs);
  for (int slot = 0; slot < spec.slots; ++slot)
    glass.set_spins(part_of(from.spins, lattice->geometry()).data(), slot);
  return glass;
}

inline std::vector<double> spins_of(const SpinGlass& glass, int slot = 0) {
  std::vector<double> spins(3 * size_t(glass.lattice().geometry().local_volume()));
  glass.spins_to_canonical(spins.data(), slot);
  return spins;
}

/// Returns the layouts of the host that kernels are built for.
inline std::vector<SpinGlassSpec> all_layouts(Precision precision, int slots = 1) {
  std::vector<SpinGlassSpec> specs;
  for (const int lanes : {1, 4, 8, 16}) specs.push_back({precision, Backend::cpu, lanes, slots});
  specs.push_back({precision, Backend::gpu_emulated, 0, slots});
#ifdef TRELLIS_WITH_CUDA
  specs.push_back({precision, Backend::cuda, 0, slots});
#endif
  return specs;
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : HUGE_VAL;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace trellis::test
