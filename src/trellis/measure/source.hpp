#pragma once
/// Sources of propagators: twelve columns, one for each spin and colour.
#include <string>

#include "trellis/field/spinor_field.hpp"
#include "trellis/measure/gaussian_smearing.hpp"
#include "trellis/measure/momenta.hpp"

namespace trellis {

struct Source {
  SpinorField columns;      ///< full, double, 12 right-hand sides: column = 3 spin + colour
  Coord at{0, 0, 0, 0};     ///< times and momenta of correlators are counted from here (global coordinates)
  std::string description;  ///< for provenance
};

/// Column (spin, colour) is one at the site `at` and zero elsewhere.
/// @pre 0 <= at < extents
Source point_source(const LatticePtr& lattice, const Coord& at);

/// Column (spin, colour) is exp(i p.x) at every site of time slice `time`; at = (0, 0, 0, time). Not gauge
/// covariant.
Source wall_source(const LatticePtr& lattice, int time, const Momentum& n = {0, 0, 0});

/// The source smeared on its time slice (gaussian_smearing.hpp); `links` may be smeared ones.
/// @pre the source lies on the time slice source.at[3]
Source smeared(const Source& source, const GaugeField& links, const GaussianSmearing& smearing);

/// The source times exp(+i p.(x - at)): a sink with exp(-i p.(x - at)) then projects on momentum transfer
/// zero.
Source with_momentum(const Source& source, const Momentum& n);

}  // namespace trellis
