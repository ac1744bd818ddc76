#pragma once
/// Tables of correlators become arrays of NumPy.
#include "bindings.hpp"
#include "trellis/measure/time_slice_sums.hpp"

namespace trellis::bindings {

/// Returns [row][momentum][time].
inline Array<std::complex<double>> to_numpy(const CorrelatorTable& table) {
  return to_array(table.values, {size_t(table.rows), size_t(table.momenta), size_t(table.times)});
}

}  // namespace trellis::bindings
