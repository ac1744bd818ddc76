#pragma once
/// Benchmarks run on these fields, the same for every run and any number of ranks, and checks compare with
/// them.
#include <cstring>
#include <vector>

#include "reference/gauge.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis::bench {

/// Returns structures of doubles as doubles.
template <class Site>
std::vector<double> as_doubles(const std::vector<Site>& sites) {
  std::vector<double> out(sites.size() * sizeof(Site) / sizeof(double));
  std::memcpy(out.data(), static_cast<const void*>(sites.data()), out.size() * sizeof(double));
  return out;
}

/// Sets random SU(3) links (Gram-Schmidt of hashed numbers), which are well mixed.
void fill_random_su3(GaugeField& U, unsigned seed);

/// Sets numbers of order one in all slots; another phase gives others.
void fill(SpinorField& field, double phase = 1.0);

/// Sets one non-zero entry in each right-hand side, as the sources of a propagator have. @pre the field is
/// zero, and has the origin
void set_point_sources(SpinorField& b);

/// Returns the numbers of all ranks on every rank, in the order of the whole lattice, x fastest. Collective.
///
/// `local` has `reals` numbers for each local site, x fastest.
std::vector<double> gathered(const Geometry& geometry, const std::vector<double>& local, size_t reals);
/// Returns the whole lattice on every rank. Collective.
reference::Gauge to_reference(const GaugeField& U);
/// Returns one slot on the whole lattice, on every rank; sites that the field lacks are zero. Collective.
///
/// Site has as many doubles as the field has reals: it is Spinor<double> or ColorVector<double>.
template <class Site>
std::vector<Site> to_reference(const SpinorField& field, int slot) {
  std::vector<double> local(size_t(field.geometry().local_volume() * field.reals()), 0.0);
  field.to_canonical(local.data(), slot);
  const std::vector<double> all = gathered(field.geometry(), local, size_t(field.reals()));
  std::vector<Site> sites(all.size() * sizeof(double) / sizeof(Site));
  std::memcpy(static_cast<void*>(sites.data()), all.data(), all.size() * sizeof(double));
  return sites;
}

/// Adds in the order of the ranks. Collective.
double sum_over_ranks(double value);

/// Returns sqrt(sum |found - expected|^2 / sum |expected|^2).
double relative_error(const std::vector<double>& found, const std::vector<double>& expected);
/// Returns the larger one, and NaN if one of them is.
inline double larger(double a, double b) { return !(a >= b) && a == a ? b : a; }
/// Returns the same of vectors of complex numbers, matrices or spinors.
template <class Site>
double relative_error(const std::vector<Site>& found, const std::vector<Site>& expected) {
  return relative_error(as_doubles(found), as_doubles(expected));
}

}  // namespace trellis::bench
