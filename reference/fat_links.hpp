#pragma once
/// Fat and long links of improved staggered actions are computed path by path.
#include "reference/gauge.hpp"

namespace trellis::reference {

/// These are the weights of the link, of each path of 3, 5 and 7 links around it, and of each straight path
/// of 5 links (two steps to the side, Lepage).
struct FatWeights {
  double one = 1, three = 0, five = 0, seven = 0, lepage = 0;
};

/// Returns the sum of the weighted paths from x to x + mu.
Gauge fat_links(const Gauge& U, const FatWeights& weights);

/// Returns U_mu(x) U_mu(x+mu) U_mu(x+2mu).
Gauge long_links(const Gauge& U);

/// Returns V (V^dagger V)^(-1/2) of each link, by Newton's iteration V <- (V + V^-dagger) / 2.
Gauge projected_to_u3(const Gauge& V);

}  // namespace trellis::reference
