/// Smearing, forces, flow and charge have the same bits for every lane count and thread count.
#include <gtest/gtest.h>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/smearing.hpp"

namespace trellis {
namespace in_test_gauge_fields {

void append(std::vector<double>& numbers, const GaugeField& U) {
  const size_t at = numbers.size();
  numbers.resize(at + U.canonical_size());
  U.to_canonical(numbers.data() + at);
}

/// Returns all that the kernels compute from U, as one list of numbers.
std::vector<double> everything(const GaugeField& U) {
  std::vector<double> numbers;
  append(numbers, stout_smear(U, 0.11, 2));
  append(numbers, ape_smear(U, {0.6, 1, false, Su3Projection::maximal_trace}));
  append(numbers, ape_smear(U, {0.4, 2, true, Su3Projection::gram_schmidt}));
  GradientFlow flow(U, -0.331);
  flow.step(0.02);
  append(numbers, flow.field());
  const AlgebraField F = force(GaugeAction::iwasaki(2.6), U);
  const size_t at = numbers.size();
  numbers.resize(at + U.canonical_size() / 72 * 32);
  F.to_canonical(numbers.data() + at);
  numbers.push_back(dot(F, F));
  numbers.push_back(action(GaugeAction::dbw2(0.9), U));
  numbers.push_back(energy_density_clover(U));
  numbers.push_back(topological_charge(U, ChargeDefinition::improved));
  numbers.push_back(topological_charge(U, ChargeDefinition::plaquette));
  return numbers;
}

TEST(GaugeFields, do_not_depend_on_lanes_and_threads) {
  const int threads_before = thread_count();
  for (const Coord& extents : {Coord{4, 4, 4, 8}, Coord{6, 4, 2, 8}, Coord{2, 2, 2, 2}}) {
    const auto U = test::random_gauge(extents, 91);
    const LatticePtr lattice = make_lattice(extents);
    set_thread_count(1);
    const auto expected = everything(test::to_product(lattice, U, 1));
    for (const int threads : {1, 3})
      for (const int lanes : {1, 4, 8, 16}) {
        set_thread_count(threads);
        EXPECT_TRUE(everything(test::to_product(lattice, U, lanes)) == expected)
            << to_string(extents) << " lanes " << lanes << " threads " << threads;
      }
  }
  set_thread_count(threads_before);
}

TEST(GaugeFields, algebra_fields_round_trip) {
  const GaugeField U(make_lattice({4, 2, 4, 8}));
  AlgebraField p(U), q(U);
  std::vector<double> in(U.canonical_size() / 72 * 32), out(in.size());
  test::Random random(1);
  double expected = 0;
  for (double& x : in) {
    x = random.symmetric();
    expected += x * x;
  }
  p.from_canonical(in.data());
  p.to_canonical(out.data());
  EXPECT_EQ(in, out);
  EXPECT_NEAR(dot(p, p), expected, 1e-10);
  EXPECT_EQ(dot(p, q), 0.0);
  EXPECT_EQ(p.components({1, 0, 0, 0}, 2)[3], in[32 + 16 + 3]);
  p.set_zero();
  EXPECT_EQ(dot(p, p), 0.0);
}

}  // namespace in_test_gauge_fields
}  // namespace trellis
