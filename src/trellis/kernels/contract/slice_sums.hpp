#pragma once
/// Products are summed over the sites of a time slice here, with a phase for each momentum. The sums are
/// exact, so that their bits do not depend on the order of the sites. A site takes 6 flop per component and
/// momentum, without the exact sums.
#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

struct SliceSumsCall {
  ProductBuffer products;
  int components = 0;
  int sites = 0;                   ///< a group has so many
  const double* phases = nullptr;  ///< [momentum][re, im][group][stride]
  int momenta = 1;
  ExactSum* sums = nullptr;  ///< products are added to [group][momentum][component][re, im]
};

/// A launch reads so many sites of a row at once: rows that end earlier are filled with zeros.
inline constexpr int sites_of_slice_sums = 8;

/// Adds to sums the sum over the sites of a group of phase * product, in memory of the host, whatever the
/// layout.
void launch_slice_sums(const SliceSumsCall& call);

}  // namespace trellis
