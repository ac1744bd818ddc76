#pragma once
/// This file has products of two fields of conserved currents at their sites
/// (kernels/contract/reflected_products.hpp).
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

/// Writes the products of blocks of one parity; block number 0 of the buffer is the first.
/// @pre fields in double that lie together
void write_reflected_products(const SpinorField& left, const SpinorField& right, int parity,
                              const SiteRange& blocks, const ProductBuffer& out);
/// Adds the products of one parity: sum += these. @pre sum has two reals a site and lies where the fields lie
void add_reflected_products(SiteField& sum, const SpinorField& left, const SpinorField& right, int parity);

}  // namespace trellis
