#pragma once
/// Spatial momenta are p = 2 pi n / L; this file has them and their phases.
#include <array>
#include <complex>
#include <vector>

#include "trellis/device/kernel_table.hpp"
#include "trellis/kernels/contract/momentum_phases.hpp"

namespace trellis {

using Momentum = std::array<int, 3>;  ///< this is n
using Momenta = std::vector<Momentum>;

inline const Momenta zero_momentum{{0, 0, 0}};

/// Lists all n with n^2 <= n2_max, ordered by n^2, then by n_z, n_y, n_x.
Momenta momenta_up_to(int n2_max);

/// Returns exp(2 pi i index / count), with the symmetries of the octants exact. @pre count >= 1
std::complex<double> root_of_unity(int64_t index, int64_t count);

/// It has exp(-i p.(x - origin)) from a table of all roots of unity that occur.
class MomentumPhases {
 public:
  MomentumPhases(const Coord& lattice, const Momenta& momenta, const Coord& origin);
  std::complex<double> operator()(int momentum, const Coord& global) const {
    const Complex<double> z = table()(momentum, &global[0]);
    return {z.re, z.im};
  }
  int momenta() const { return int(steps_.size() / 4); }
  /// Returns the table in the host's memory; it lasts as long as this object does.
  MomentumPhaseTable table() const { return {roots_.data(), steps_.data(), int64_t(roots_.size() / 2)}; }
  const std::vector<double>& roots() const { return roots_; }
  const std::vector<int64_t>& steps() const { return steps_; }

 private:
  std::vector<double> roots_;
  std::vector<int64_t> steps_;
};

/// It holds the phases where the kernels of a backend can read them.
class DevicePhases {
 public:
  DevicePhases(const MomentumPhases& phases, Backend backend)
      : roots_{phases.roots(), backend}, steps_{phases.steps(), backend} {}
  MomentumPhaseTable table() const { return {roots_.data(), steps_.data(), int64_t(roots_.size() / 2)}; }

 private:
  KernelTable<double> roots_;
  KernelTable<int64_t> steps_;
};

}  // namespace trellis
