#pragma once
/// Sums of products over the sites of a time slice, with a phase for each momentum: exact, so that their bits
/// do not depend on the order of the sites. 6 flop per site, component and momentum, without the exact sums.
#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

struct SliceSumsCall {
  ProductBuffer products;
  int components = 0;
  int sites = 0;                   ///< of a group
  const double* phases = nullptr;  ///< [momentum][re, im][group][stride]
  int momenta = 1;
  ExactSum* sums = nullptr;  ///< [group][momentum][component][re, im]; added to
};

/// How many sites of a row a launch reads at once: rows that end earlier are filled with zeros.
inline constexpr int sites_of_slice_sums = 8;

/// sums += sum over the sites of a group of phase * product, in memory of the host, whatever the layout.
void launch_slice_sums(const SliceSumsCall& call);

}  // namespace trellis
