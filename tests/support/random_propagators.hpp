#pragma once
/// Contractions take random propagators, in the reference and in the product.
#include "reference/solver.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/measure/propagator.hpp"

namespace trellis::test {

inline reference::Propagator random_propagator(const Coord& extents, uint64_t seed) {
  reference::Propagator S{extents, {}};
  for (size_t column = 0; column < 12; ++column)
    S.columns[column] = random_spinors(extents, 100 * seed + column);
  return S;
}

/// Returns this rank's part in the product's storage.
inline Propagator to_product(const LatticePtr& lattice, const reference::Propagator& S,
                             const Coord& source_at, const FieldSpec& storage = {},
                             const BoundaryPhases& boundary = {1.0, 1.0, 1.0, -1.0}) {
  FieldSpec spec = storage;
  spec.rhs = 12;
  SpinorField columns(lattice, spec);
  for (int column = 0; column < 12; ++column) to_product(columns, S.columns[size_t(column)], column);
  return Propagator(std::move(columns), source_at, boundary);
}

}  // namespace trellis::test
