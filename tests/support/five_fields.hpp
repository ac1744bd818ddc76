#pragma once
/// Five-dimensional vectors go between reference/ and the product, and some are random.
#include "reference/domain_wall.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/operator/domain_wall.hpp"

namespace trellis::test {

inline reference::FiveVector random_five(const Coord& extents, int Ls, uint64_t seed) {
  reference::FiveVector psi;
  for (int s = 0; s < Ls; ++s) psi.push_back(random_spinors(extents, 100 * seed + uint64_t(s)));
  return psi;
}

inline void to_product(SpinorField& out, const reference::FiveVector& psi, int rhs = 0) {
  for (int s = 0; s < out.slices(); ++s) to_product(out, psi[size_t(s)], rhs * out.slices() + s);
}

/// Returns a field as a vector of the reference. @pre one rank
inline reference::FiveVector to_five(const SpinorField& in, int rhs = 0) {
  reference::FiveVector psi;
  for (int s = 0; s < in.slices(); ++s) psi.push_back(to_reference(in, rhs * in.slices() + s));
  return psi;
}

/// Returns all slices of one right-hand side, in canonical order.
inline std::vector<double> canonical_five(const SpinorField& in, int rhs = 0) {
  std::vector<double> all;
  for (int s = 0; s < in.slices(); ++s) {
    const auto part = canonical_part(in, rhs * in.slices() + s);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

inline reference::DomainWallParameters to_reference_params(const DomainWallParams& p) {
  reference::DomainWallParameters r;
  r.mass = p.mass;
  r.M5 = p.M5;
  r.nu = p.nu;
  r.xi0 = p.xi0;
  r.Ls = p.Ls;
  for (int s = 0; s < p.Ls; ++s) {
    r.b5_of_slice.push_back(p.b(s));
    r.c5_of_slice.push_back(p.c(s));
  }
  r.boundary = p.boundary;
  return r;
}

inline DomainWallParams moebius(double mass, int Ls, double b5, double c5) {
  DomainWallParams p;
  p.mass = mass;
  p.Ls = Ls;
  p.b5 = {b5};
  p.c5 = {c5};
  return p;
}

}  // namespace trellis::test
