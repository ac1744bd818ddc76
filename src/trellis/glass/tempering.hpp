#pragma once
/// Parallel tempering (K. Hukushima and K. Nemoto 1996) exchanges spins at neighbouring temperatures with the
/// probability min(1, exp((beta_a - beta_b) (E_a - E_b))).
#include "trellis/glass/observables.hpp"

namespace trellis {

struct ExchangeStep {
  SlotPairs pairs;                    ///< the exchange of these slots was proposed
  std::vector<uint8_t> is_exchanged;  ///< the index is [sample of the whole lattice][pair]
  std::vector<double> energies;       ///< they are [sample][slot], after the step
};

/// Does one step for the slots [replica][temperature], slot = replica * temperatures + temperature; betas has
/// one number for each temperature. Step 0, 2, ... proposes the pairs (0, 1), (2, 3), ..., step 1, 3, ... the
/// pairs (1, 2), (3, 4), ...; all ranks decide alike, from exact sums and random numbers of purpose
/// spin_tempering. Throws BadArgument if the slots are no multiple of the temperatures. Collective.
ExchangeStep exchange_temperatures(SpinGlass& glass, const std::vector<double>& betas, uint64_t seed,
                                   uint64_t stream, uint32_t step);

/// Exchanges both slots of pairs in some samples. No slot is in two pairs. is_exchanged is as above.
void exchange_spins(SpinGlass& glass, const SlotPairs& pairs, const std::vector<uint8_t>& is_exchanged);

}  // namespace trellis
