#pragma once
/// Mesons and baryons share sums of contracted products over time slices.
#include <functional>

#include "trellis/device/site_range.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/contract/site_products.hpp"
#include "trellis/measure/momenta.hpp"

namespace trellis {

/// It has correlators as [row][momentum][time after the source].
struct CorrelatorTable {
  int rows = 0, momenta = 0, times = 0;
  std::vector<std::complex<double>> values;

  CorrelatorTable() = default;
  CorrelatorTable(int rows, int momenta, int times)
      : rows{rows}, momenta{momenta}, times{times}, values(size_t(rows) * momenta * times) {}
  std::complex<double>& at(int row, int momentum, int time) {
    return values[(size_t(row) * momenta + momentum) * times + time];
  }
  const std::complex<double>& at(int row, int momentum, int time) const {
    return values[(size_t(row) * momenta + momentum) * times + time];
  }
};

/// Writes the products of blocks [begin, end) of one parity; block number 0 of the buffer is `begin`.
using ProductWriter = std::function<void(int parity, const SiteRange& blocks, const ProductBuffer& out)>;

/// Returns this rank's part of such sums, [local time][momentum][component][re, im]. Its stops alone are
/// collective.
std::vector<ExactSum> slice_sums_of_rank(const SpinorField& quark, int components,
                                         const MomentumPhases& phases, const ProductWriter& write_products);

/// Row c of the table is the sum over the sites x of each time slice of exp(-i p.(x - origin)) product_c(x),
/// for times counted from origin[3]. The sums are global and exact: the bits are the same for every process
/// grid, thread count and lane count. The products lie where `quark`, one of those that they are made of,
/// lies. Collective.
CorrelatorTable time_slice_sums(const SpinorField& quark, int components, const Momenta& momenta,
                                const Coord& origin, const ProductWriter& write_products);

/// Returns the bytes per rank that time_slice_sums needs beside the propagators.
size_t time_slice_sums_bytes(const Geometry& geometry, int components, int momenta);

}  // namespace trellis
