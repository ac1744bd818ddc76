#pragma once
/// Spatial momenta p = 2 pi n / L and their phases.
#include <array>
#include <complex>
#include <vector>

#include "trellis/lattice/geometry.hpp"

namespace trellis {

using Momentum = std::array<int, 3>;  ///< n
using Momenta = std::vector<Momentum>;

inline const Momenta zero_momentum{{0, 0, 0}};

/// Lists all n with n^2 <= n2_max, ordered by n^2, then by n_z, n_y, n_x.
Momenta momenta_up_to(int n2_max);

/// exp(2 pi i index / count), with the symmetries of the octants exact. @pre count >= 1
std::complex<double> root_of_unity(int64_t index, int64_t count);

/// It has exp(-i p.(x - origin)) from a table of all roots of unity that occur.
class MomentumPhases {
 public:
  MomentumPhases(const Coord& lattice, const Momenta& momenta, const Coord& origin);
  std::complex<double> operator()(int momentum, const Coord& global) const {
    int64_t index = offset_[size_t(momentum)];
    for (size_t k = 0; k < 3; ++k) index += step_[size_t(momentum)][k] * global[k];
    return table_[size_t(index % int64_t(table_.size()))];
  }

 private:
  std::vector<std::complex<double>> table_;
  std::vector<std::array<int64_t, 3>> step_;
  std::vector<int64_t> offset_;
};

}  // namespace trellis
