#pragma once
/// This file has conjugate gradients on the normal equations, and propagators (twelve columns).
#include <array>

#include "reference/wilson.hpp"

namespace trellis::reference {

struct Solution {
  SpinorVector x;
  int iterations = 0;
  double relative_residual = 0;  ///< it is |b - M x| / |b|, recomputed at the end
};

/// Solves M x = b by CG on M^dagger M x = M^dagger b until |b - M x| <= tolerance |b|.
/// Throws NumericError when max_iterations do not suffice.
Solution solve(const SpinorOperator& M, const SpinorOperator& M_dagger, const SpinorVector& b,
               double tolerance, int max_iterations = 5000);

/// It has S(x; column) of twelve sources, column = 3 source spin + source colour.
struct Propagator {
  Coord extents;
  std::array<SpinorVector, 12> columns;

  std::complex<double> entry(int64_t site, int sink_spin, int sink_colour, int source_spin,
                             int source_colour) const {
    return to_std(columns[size_t(3 * source_spin + source_colour)][size_t(site)].s[sink_spin].c[sink_colour]);
  }
};

/// Returns D^-1 on each of the twelve columns.
Propagator propagator(const WilsonOperator& D, const Propagator& source, double tolerance = 1e-13);

}  // namespace trellis::reference
