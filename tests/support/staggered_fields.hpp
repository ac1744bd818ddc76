#pragma once
/// Reference colour vectors (whole lattice) become the product's fields (this rank's part) and back, and the
/// product's phases become those of the reference. This is a header only: the programs that use it link the
/// product.
#include "reference/staggered.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/operator/staggered.hpp"

namespace trellis::test {

inline reference::ColorVectors random_vectors(const Coord& extents, uint64_t seed) {
  Random random(seed);
  reference::ColorVectors psi(size_t(product(extents)));
  for (auto& v : psi)
    for (auto& c : v.c) c = random.complex();
  return psi;
}

inline void to_product(SpinorField& out, const reference::ColorVectors& psi, int rhs = 0) {
  const Geometry& g = out.geometry();
  std::vector<double> canonical(size_t(g.local_volume()) * 6);
  for (int64_t site = 0; site < g.local_volume(); ++site)
    std::memcpy(&canonical[size_t(site) * 6], &psi[size_t(g.global_index(site_coord(site, g.local())))],
                6 * sizeof(double));
  out.from_canonical(canonical.data(), rhs);
}

inline reference::StaggeredPhases to_reference(const StaggeredPhases& phases) {
  reference::StaggeredPhases r;
  constexpr std::pair<int, int> planes[] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  for (size_t mu = 0; mu < Nd; ++mu) r.boundary_angle[mu] = std::arg(phases.boundary[mu]);
  r.mu_over_ipiT = phases.mu_over_ipiT;
  for (size_t p = 0; p < flux_planes; ++p)
    if (phases.flux[p] != 0) r.flux[planes[p]] = phases.flux[p];
  return r;
}

/// Returns |a - b| / |b| of canonical reals and a reference vector.
inline double relative_error(const std::vector<double>& found, const reference::ColorVectors& expected) {
  double difference = 0, norm = 0;
  for (size_t x = 0; x < expected.size(); ++x)
    for (size_t c = 0; c < Nc; ++c) {
      const double re = expected[x].c[c].re, im = expected[x].c[c].im;
      difference += std::pow(found[6 * x + 2 * c] - re, 2) + std::pow(found[6 * x + 2 * c + 1] - im, 2);
      norm += re * re + im * im;
    }
  return std::sqrt(difference / norm);
}

}  // namespace trellis::test
