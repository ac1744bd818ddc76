#pragma once
/// Benchmarks of solvers take thermalised quenched fields, made in the run or read from a file.
#include <cstdint>
#include <string>

#include "bench/options.hpp"
#include "trellis/field/gauge_field.hpp"

namespace trellis::bench {

/// It is a field of `tr.quenched(lattice, beta=beta, seed=seed, sweeps=sweeps)`, to the bit, or one of a
/// file.
struct ThermalField {
  std::string gauge;  ///< a file of links in any format; empty: the field is made
  std::string kept;   ///< a file in which the field that is made stays for further runs; empty: none
  double beta = 6.0;
  int seed = 60161, sweeps = 140;

  /// --gauge, --keep-field, --beta, --seed and --field-sweeps.
  std::vector<OwnOption> options();
  /// Collective.
  /// @throws BadArgument: the file keeps a field of other parameters; FileError
  GaugeField get(const Coord& extents) const;
};

}  // namespace trellis::bench
