#pragma once
/// Both forms of baryons share three propagators that fit together, and the phase of wrapped times.
#include <array>

#include "trellis/base/error.hpp"
#include "trellis/measure/baryons.hpp"

namespace trellis {

/// Three quarks stand in these orders.
inline constexpr std::array<int, 3> permutations[6] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

using ThreeQuarks = std::array<const Propagator*, 3>;

/// Returns the propagators of a term. Throws BadArgument where one is missing or they do not fit.
ThreeQuarks three_quarks(const BaryonQuarks& quarks, const std::array<Flavour, 3>& flavours);

/// Returns the sets of propagators that a term stands for: itself, or with an insertion one for each quark of
/// its flavour. Throws BadArgument where the insertion does not fit.
std::vector<ThreeQuarks> inserted(const ThreeQuarks& quarks, const std::array<Flavour, 3>& flavours,
                                  const Insertion* insertion);

/// Removes the phase of three quarks that wrapped around the time boundary: S(x + Lt) = z S(x).
void remove_boundary_phase(CorrelatorTable& table, const ThreeQuarks& quarks);

}  // namespace trellis
