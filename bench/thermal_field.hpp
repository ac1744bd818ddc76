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
  std::string gauge;  ///< it is a file of links in any format; where it is empty the field is made
  std::string kept;   ///< the field that is made stays in this file for further runs; where it is empty none
                      ///< does
  double beta = 6.0;
  int seed = 60161, sweeps = 140;

  /// Returns --gauge, --keep-field, --beta, --seed and --field-sweeps.
  std::vector<OwnOption> options();
  /// Returns the field. Collective.
  /// @throws BadArgument: the file keeps a field of other parameters; FileError
  GaugeField get(const Coord& extents) const;
};

}  // namespace trellis::bench
