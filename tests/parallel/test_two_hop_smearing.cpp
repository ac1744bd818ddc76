// ranks: 1 2 4
// threads: 2
/// Smearing of colour vectors by two hops has the bits of staggered hops in all directions, of which the
/// others have the factor 0, for each number of ranks and each layout.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/measure/two_hop_smearing.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis {
namespace in_test_two_hop_smearing {

constexpr int columns = 3;

/// Calls f(place, its coordinates, column) at each site of this rank.
template <class F>
void for_each_vector(const SpinorField& field, const F& f) {
  for (int parity = 0; parity < 2; ++parity)
    for (int block = 0; block < field.layout().blocks(); ++block)
      for (int lane = 0; lane < field.layout().lanes(); ++lane)
        for (int column = 0; column < field.rhs(); ++column) {
          const SitePosition at{parity, block, lane};
          f(at, field.layout().coord(at), column);
        }
}

/// Sets numbers that depend on the site of the whole lattice alone, and zero on all time slices but one, or
/// on none.
void fill(SpinorField& field, int time) {
  const Coord origin = field.layout().geometry().origin();
  for_each_vector(field, [&](const SitePosition& at, const Coord& local, int column) {
    double numbers[6] = {};
    const Coord x{local[0] + origin[0], local[1] + origin[1], local[2] + origin[2], local[3] + origin[3]};
    if (time == all_times || x[3] == time)
      for (int i = 0; i < 6; ++i)
        numbers[i] = std::sin(1 + x[0] + 11.0 * x[1] + 101.0 * x[2] + 997.0 * x[3] + 3.1 * column + 0.7 * i);
    field.set_site(at, column, numbers);
  });
}

/// Sets out <- a x + out, with one rounding for each number.
void add(SpinorField& out, double a, const SpinorField& x) {
  for_each_vector(out, [&](const SitePosition& at, const Coord&, int column) {
    double sum[6], term[6];
    out.get_site(at, column, sum);
    x.get_site(at, column, term);
    for (int i = 0; i < 6; ++i) sum[i] = std::fma(a, term[i], sum[i]);
    out.set_site(at, column, sum);
  });
}

/// Does the same smearing by hops in all directions.
SpinorField smeared_by_full_hops(const SpinorField& psi, const GaugeField& U, const GaussianSmearing& how) {
  KernelChoice choice;
  choice.lanes = psi.spec().lanes;
  const StaggeredHopping hopping(std::make_shared<StaggeredLinks>(U, choice), {},
                                 Precision::double_precision);
  const double a = how.width * how.width / (16 * how.steps);
  SpinorField now = psi, next = SpinorField::like(psi), hopped = next, term = next;
  for (int step = 0; step < how.steps; ++step) {
    for (int k = 0; k < 3; ++k) {
      const auto only = [k](const Coord&, int mu) { return std::complex<double>(mu == k ? 1.0 : 0.0); };
      const HopTables tables = hopping.make_tables({only, only}, {only, only});
      for (int parity = 0; parity < 2; ++parity) hopping.apply(tables, hopped, parity, now, 1.0);
      for (int parity = 0; parity < 2; ++parity) hopping.apply(tables, term, parity, hopped, a);
      add(term, k == 0 ? 1.0 - 12.0 * a : 1.0, k == 0 ? now : next);
      std::swap(next, term);
    }
    std::swap(now, next);
  }
  return now;
}

/// @param time is that of the slice that is smeared, or all_times
void expect_same_bits(const LatticePtr& lattice, int lanes, int time) {
  const GaugeField U = test::to_product(lattice, test::random_gauge(lattice->extents(), 5));
  FieldSpec spec;
  spec.rhs = columns;
  spec.reals = colour_vector_reals;
  spec.lanes = lanes;
  SpinorField psi(lattice, spec);
  fill(psi, time);
  const GaussianSmearing how{1.5, 3};
  const SpinorField expected = smeared_by_full_hops(psi, U, how);
  smear_two_hops(psi, U, how, time);
  int differences = 0;
  double largest = 0;
  for_each_vector(psi, [&](const SitePosition& at, const Coord&, int column) {
    double found[6], wanted[6];
    psi.get_site(at, column, found);
    expected.get_site(at, column, wanted);
    for (int i = 0; i < 6; ++i) {
      differences += std::memcmp(&found[i], &wanted[i], sizeof(double)) != 0;
      largest = std::max(largest, std::abs(found[i]));
    }
  });
  EXPECT_EQ(differences, 0) << "lanes " << lanes << ", time " << time;
  if (time == all_times) EXPECT_GT(largest, 0.1);
}

TEST(TwoHopSmearing, has_the_bits_of_full_hops) {
  const LatticePtr lattice = make_lattice({8, 4, 8, 8});
  for (const int lanes : {1, 4, 8})
    for (const int time : {all_times, 0, 5}) expect_same_bits(lattice, lanes, time);
}

}  // namespace in_test_two_hop_smearing
}  // namespace trellis
