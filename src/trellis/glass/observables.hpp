#pragma once
/// These are sums over the sites of each sample (doc/glass.md). They are exact, so that their bits depend on
/// no order, no lanes and no ranks, and every rank gets those of all samples.
#include <utility>

#include "trellis/glass/spin_glass.hpp"
#include "trellis/kernels/glass/spin_sums.hpp"

namespace trellis {

/// Each entry has two slots; sums over one set of spins do not read the second.
using SlotPairs = std::vector<std::pair<int, int>>;

/// Returns [sample of the whole lattice][pair][row], with rows of kernels/glass/spin_sums.hpp. Collective.
std::vector<double> spin_sums(const SpinGlass& glass, SpinSums kind, const SlotPairs& pairs);

/// Returns the energy of every slot in every sample: [sample][slot]. Collective.
std::vector<double> energies(const SpinGlass& glass);

}  // namespace trellis
