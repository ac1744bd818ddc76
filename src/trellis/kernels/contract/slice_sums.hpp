#pragma once
/// Sums of products over the sites of a time slice, with a phase for each momentum: exact, so that their bits
/// do not depend on the order of the sites.
#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

/// Per site, component and momentum: a complex product; the exact sums are not counted.
inline constexpr double slice_sums_flops = 6;

struct SliceSumsCall {
  ProductBuffer products;
  int components = 0;
  int sites = 0;                   ///< of a group
  const double* phases = nullptr;  ///< [momentum][re, im][group][stride]
  int momenta = 1;
  ExactSum* sums = nullptr;  ///< [group][momentum][component][re, im]; added to
};

/// sums += sum over the sites of a group of phase * product.
void launch_slice_sums(const SliceSumsCall& call);

}  // namespace trellis
