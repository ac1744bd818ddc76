// ranks: 1 2 4
/// A request of one rank ends every kind of loop on all ranks in the same iteration, and nothing is the worse
/// for it: the same objects give the bits of an uninterrupted run afterwards.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/product_fields.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/smearing.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/gauge/wilson_loops.hpp"
#include "trellis/measure/conserved_three_point.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/solver/eigen/block_lanczos.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/deflated.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/multi_shift_cg.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/heatbath.hpp"
#include "trellis/update/hmc.hpp"
#include "trellis/update/two_flavour_monomial.hpp"
#include "trellis/update/wilson_fermion.hpp"

namespace trellis {
namespace in_test_stop {

/// `chances` counts the global sums and checks of this rank: these are the places where a request can travel.
int chances = 0, chance_of_request = 0;
bool asks_here = false;

/// This class asks for a stop on the last rank at one of them while it lives.
class RequestAt {
 public:
  explicit RequestAt(int chance) {
    chances = 0;
    chance_of_request = chance;
    asks_here = world()->rank() == world()->size() - 1;
    set_stop_hooks({[] { return ++chances == chance_of_request && asks_here; }, nullptr});
  }
  ~RequestAt() { set_stop_hooks({}); }
};

using Numbers = std::vector<double>;
struct Work {
  const char* name;
  std::function<Numbers()> run;  ///< it gives the same numbers each time
  int most_later = 12;           ///< no chance is missed for longer than those of one iteration
};

Numbers numbers(const GaugeField& U) {
  Numbers x(U.canonical_size());
  U.to_canonical(x.data());
  return x;
}
Numbers numbers(const CorrelatorTable& table) {
  Numbers x;
  for (const auto& z : table.values) x.insert(x.end(), {z.real(), z.imag()});
  return x;
}

/// Returns the links after f(); where it is interrupted they are as they were.
Numbers changed(const GaugeField& U, const std::function<void(GaugeField&)>& f) {
  GaugeField V = U;
  try {
    f(V);
  } catch (const Interrupted&) {
    EXPECT_TRUE(numbers(V) == numbers(U));
    throw;
  }
  return numbers(V);
}

void expect_stops(const Work& work) {
  Numbers expected;
  int all = 0;
  {
    const RequestAt never(0);
    expected = work.run();
    all = chances;
  }
  ASSERT_GE(all, 4) << work.name;
  for (const int chance : {1, all / 2}) {
    int found = 0;
    {
      const RequestAt once(chance);
      EXPECT_THROW(work.run(), Interrupted) << work.name << ", at " << chance << " of " << all;
      found = chances;
    }
    EXPECT_EQ(world()->maximum(found), world()->minimum(found)) << work.name;
    EXPECT_LE(found - chance, work.most_later) << work.name << ", at " << chance << " of " << all;
    EXPECT_TRUE(work.run() == expected) << work.name << ", after a stop at " << chance << " of " << all;
  }
}

class Stop : public testing::Test {
 protected:
  const LatticePtr lattice = make_lattice({4, 4, 4, 8});
  GaugeField U = [this] {
    GaugeField links(lattice);
    set_weak(links, 0.3, 7);
    return links;
  }();
  const WilsonParams params = [] {
    WilsonParams p;
    p.mass = 0.2;
    p.csw_spatial = p.csw_temporal = 1.0;
    return p;
  }();
  const WilsonMatrixPtr matrix = std::make_shared<WilsonMatrix>(U, params, KernelChoice{});
  const std::shared_ptr<const WilsonSchur> schur =
      std::make_shared<WilsonSchur>(matrix, SchurForm::symmetric);
};

TEST_F(Stop, solves) {
  const Source source = point_source(lattice, {0, 0, 0, 0});
  const auto solved = [&](const SolverSpec& spec) {
    return [=, this] {
      const Propagator S = solve_propagator(matrix, EvenOddSpec{spec}, source);
      return test::canonical_part(S.columns(), 5);
    };
  };
  const MixedPrecisionSpec half{CgSpec{1e-9}, Precision::half_precision};
  expect_stops({"cg", solved(CgSpec{1e-9})});
  expect_stops({"bicgstab", solved(BicgstabSpec{1e-9})});
  expect_stops({"gcr", solved(GcrSpec{1e-9}), 24});
  expect_stops({"mr", solved(MrSpec{1e-9})});
  expect_stops({"mixed", solved(half)});
  const auto normal = std::make_shared<NormalOperator>(schur);
  expect_stops({"multi-shift", [&] {
                  SpinorField b = schur->make_field(1);
                  extract_parity(b, matrix->hop().make_field(Subset::full, 1));
                  std::vector<double> one(24, 1.0);
                  if (world()->rank() == 0) b.set_site({0, 0, 0}, 0, one.data());
                  std::vector<SpinorField> x(2, schur->make_field(1));
                  multi_shift_cg(normal, {0.01, 1.0}, x, b, {1e-9});
                  return test::canonical_part(x[1]);
                }});
}

TEST_F(Stop, eigenvectors) {
  LanczosSpec spec;
  spec.count = 6;
  spec.tolerance = 1e-6;
  const auto modes = [&] { return std::make_shared<Eigenvectors>(lanczos(schur, spec)); };
  expect_stops({"lanczos", [&] { return modes()->values; }, 40});
  const DeflatedSpec deflated{CgSpec{1e-9}, modes()};
  const Source source = point_source(lattice, {0, 0, 0, 0});
  expect_stops({"deflated", [&] {
                  const Propagator S = solve_propagator(matrix, EvenOddSpec{deflated}, source);
                  return test::canonical_part(S.columns(), 5);
                }});
}

TEST_F(Stop, links) {
  expect_stops({"smearing", [&] { return numbers(stout_smear(U, 0.1, 8)); }, 0});
  expect_stops({"Wilson loops", [&] { return wilson_loops(U, 2, 3, LoopPlanes::all)[1]; }, 0});
  expect_stops({"heat bath",
                [&] { return changed(U, [](GaugeField& V) {
                        heatbath_update(V, {6, 2, 3, 0}, 1, 0, 1);
                      }); },
                0});
}

TEST_F(Stop, short_heat_baths_before_they_begin) {
  const auto update = [&] {
    return changed(U, [](GaugeField& V) { heatbath_update(V, {6, 2, 3}, 1, 0, 1); });
  };
  Numbers expected;
  {
    const RequestAt never(0);
    expected = update();
    EXPECT_EQ(chances, 1);
  }
  {
    const RequestAt once(1);
    EXPECT_THROW(update(), Interrupted);
  }
  EXPECT_TRUE(update() == expected);
}

/// An interrupted flow goes on from where it is.
TEST_F(Stop, flow) {
  const auto flowed = [&](AdaptiveFlow& flow) {
    flow.advance(0.4);
    return numbers(flow.field());
  };
  AdaptiveFlow plain(U);
  const Numbers expected = flowed(plain);
  AdaptiveFlow flow(U);
  for (const int chance : {1, 3}) {
    const RequestAt once(chance);
    EXPECT_THROW(flow.advance(0.4), Interrupted);
    EXPECT_EQ(chances, chance);
  }
  EXPECT_EQ(flow.steps() + flow.repeated_steps(), 2);
  EXPECT_TRUE(flowed(flow) == expected);
  EXPECT_EQ(flow.steps(), plain.steps());
}

TEST_F(Stop, trajectories) {
  const auto thin = std::make_shared<SmearedLinks>(isotropic_stout(0.12), 1);
  TwoFlavourParams p;
  p.dynamics_tolerance = 1e-6;
  const auto light =
      std::make_shared<TwoFlavourMonomial>("light", thin, std::make_shared<WilsonFermion>(params), p);
  const auto gauge = std::make_shared<GaugeMonomial>("gauge", GaugeAction::wilson(5.6));
  Hmc hmc({5, 0, 0.2}, {{Scheme::leapfrog, 2, 0.19, {light}}, {Scheme::leapfrog, 2, 0.19, {gauge}}});
  expect_stops(
      {"trajectory", [&] { return changed(U, [&](GaugeField& V) { hmc.trajectory(V, 1, false); }); }});
  EXPECT_EQ(hmc.failed_links().links(), nullptr);
}

TEST_F(Stop, contractions) {
  const Propagator S =
      solve_propagator(matrix, EvenOddSpec{CgSpec{1e-6}}, point_source(lattice, {0, 0, 0, 0}));
  expect_stops({"mesons", [&] { return numbers(all_meson_correlators(S, S)); }, 0});
  expect_stops({"smearing", [&] { return test::canonical_part(sink_smeared(S, U, {1.0, 6}).columns()); }, 0});
  expect_stops({"conserved current",
                [&] {
                  return numbers(conserved_three_point(U, params, S, S, {0, 3}, zero_momentum));
                },
                3});
}

/// A request that comes to no stop point stays agreed until the next one.
TEST_F(Stop, a_call_without_stop_points) {
  const RequestAt once(1);
  const double before = norm2(SpinorField(lattice, {}));
  EXPECT_EQ(before, 0.0);
  EXPECT_THROW(stop_point(), Interrupted);
  EXPECT_NO_THROW(stop_point());
}

TEST(Request, the_first_one_waits) {
  const bool is_last = world()->rank() == world()->size() - 1;
  if (is_last) {
    EXPECT_TRUE(request_stop());
    EXPECT_FALSE(request_stop());
  }
  EXPECT_THROW(stop_together(*world()), Interrupted);
  EXPECT_NO_THROW(stop_together(*world()));
  EXPECT_FALSE(take_agreed_stop());
}

/// A lattice belongs to this rank alone, in a job of several.
TEST(Request, is_none_of_a_part_of_the_ranks) {
  SingleCommunicator alone;
  request_stop();
  if (world()->size() > 1) {
    EXPECT_NO_THROW(stop_together(alone));
  }
  EXPECT_THROW(stop_together(*world()), Interrupted);
}

/// NaN and Inf of the sum that carries a request are not lost, and the request is none of its numbers.
TEST(Request, travels_beside_any_sum) {
  for (const double term : {1.5, std::nan("")}) {
    if (world()->rank() == 0) request_stop();
    ExactSum sum;
    if (world()->rank() == world()->size() - 1) sum.add(term);
    world()->sum(&sum, 1);
    EXPECT_TRUE(std::isnan(term) ? std::isnan(sum.value()) : sum.value() == term);
    EXPECT_TRUE(take_agreed_stop());
  }
}

}  // namespace in_test_stop
}  // namespace trellis
