#pragma once
/// Reference vectors (whole lattice) become the product's fields (this rank's part), and back. This is a
/// header only: the programs that use it link the product.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "reference/gauge.hpp"
#include "reference/spinor_vector.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/field/algebra_field.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis::test {

inline GaugeField to_product(const LatticePtr& lattice, const reference::Gauge& U, int lanes = 0) {
  const Geometry& g = lattice->geometry();
  std::vector<double> canonical(size_t(g.local_volume()) * 72);
  for (int64_t site = 0; site < g.local_volume(); ++site)
    std::memcpy(&canonical[size_t(site) * 72],
                &U.links[size_t(4 * g.global_index(site_coord(site, g.local())))], 72 * sizeof(double));
  GaugeField field(lattice, lanes);
  field.from_canonical(canonical.data());
  return field;
}

inline void to_product(SpinorField& out, const reference::SpinorVector& psi, int rhs = 0) {
  const Geometry& g = out.geometry();
  std::vector<double> canonical(size_t(g.local_volume()) * 24);
  for (int64_t site = 0; site < g.local_volume(); ++site)
    std::memcpy(&canonical[size_t(site) * 24], &psi[size_t(g.global_index(site_coord(site, g.local())))],
                24 * sizeof(double));
  out.from_canonical(canonical.data(), rhs);
}

/// Returns the local part in canonical order; sites that the field lacks are zero.
inline std::vector<double> canonical_part(const SpinorField& in, int rhs = 0) {
  std::vector<double> canonical(size_t(in.geometry().local_volume()) * size_t(in.reals()), 0.0);
  in.to_canonical(canonical.data(), rhs);
  return canonical;
}

/// Returns the field as a reference vector. @pre one rank
inline reference::SpinorVector to_reference(const SpinorField& in, int rhs = 0) {
  const std::vector<double> canonical = canonical_part(in, rhs);
  reference::SpinorVector psi(canonical.size() / 24);
  std::memcpy(psi.data(), canonical.data(), canonical.size() * sizeof(double));
  return psi;
}

/// Returns the components of the hash direction of gold.md.
inline AlgebraField hash_components(const GaugeField& U) {
  AlgebraField X(U);
  const Coord& extents = U.lattice().extents();
  for (int64_t site = 0; site < product(extents); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      std::array<double, 8> xi;
      for (size_t a = 0; a < 8; ++a) xi[a] = hash_uniform(8 * (4 * uint64_t(site) + uint64_t(mu)) + a) - 0.5;
      X.set_components(site_coord(site, extents), mu, xi);
    }
  return X;
}

}  // namespace trellis::test
