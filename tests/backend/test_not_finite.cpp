/// A NaN or infinity in any component of any storage, layout and lane count is seen: by norms, by
/// conversions to other storages and back, by links that are stored in 16 bits or compressed, by the largest
/// force and flow step.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/force.hpp"

namespace trellis {
namespace in_test_not_finite {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<FieldSpec> all_specs(int reals) {
  std::vector<FieldSpec> specs;
  for (const Precision p : all_precisions) {
    for (const int lanes : {1, 4, 8, 16})
      specs.push_back(
          {.precision = p, .subset = Subset::even, .reals = reals, .backend = Backend::cpu, .lanes = lanes});
    specs.push_back(
        {.precision = p, .subset = Subset::even, .reals = reals, .backend = Backend::gpu_emulated});
  }
  return specs;
}

std::string name_of(const FieldSpec& spec) {
  return message(name_of(spec.precision), " with ", spec.lanes, " lanes on ",
                 spec.backend == Backend::cpu ? "cpu" : "gpu_emulated");
}

class OneBadComponent : public testing::TestWithParam<int> {};

/// Norms find a bad number after from_canonical(), after a kernel's store, and after conversions into every
/// storage.
TEST_P(OneBadComponent, reaches_every_norm) {
  const int reals = GetParam();
  const LatticePtr lattice = make_lattice({4, 4, 4, 4});
  test::Random random(uint64_t(reals) + 1);
  std::vector<double> values(size_t(lattice->geometry().local_volume()) * size_t(reals));
  for (double& v : values) v = random.symmetric();
  for (const double bad : {nan, -nan, infinity, -infinity})
    for (int i = 0; i < reals; ++i) {
      std::vector<double> damaged = values;
      damaged[size_t(6 * reals + i)] = bad;  // site (2, 1, 0, 0) is odd, (3, 1, 0, 0) even
      damaged[size_t(7 * reals + i)] = bad;
      for (const FieldSpec& spec : all_specs(reals)) {
        SpinorField field(lattice, spec), scaled(lattice, spec);
        field.from_canonical(damaged.data());
        EXPECT_FALSE(std::isfinite(norm2_each(field)[0])) << bad << " in " << i << ", " << name_of(spec);
        scale(scaled, 0.5, field);
        EXPECT_FALSE(std::isfinite(norm2_each(scaled)[0])) << bad << " in " << i << ", " << name_of(spec);
        if (i % 5 != 0) continue;  // conversions take some components
        for (const FieldSpec& to : all_specs(reals)) {
          SpinorField converted(lattice, to);
          convert(converted, field);
          EXPECT_FALSE(std::isfinite(norm2_each(converted)[0]))
              << bad << " in " << i << ", " << name_of(spec) << " to " << name_of(to);
        }
      }
    }
}
INSTANTIATE_TEST_SUITE_P(Reals, OneBadComponent, testing::Values(6, 24),
                         [](const auto& info) { return message("of_", info.param); });

/// Every other site keeps its numbers.
TEST(NotFinite, stays_in_its_site) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 4});
  for (const FieldSpec& spec : all_specs(24)) {
    SpinorField field(lattice, spec);
    std::vector<double> values(size_t(lattice->geometry().local_volume()) * 24, 0.5), read(values.size());
    values[24 * 7 + 23] = nan;
    field.from_canonical(values.data());
    field.to_canonical(read.data());
    for (size_t k = 0; k < read.size(); ++k)
      if (const size_t site = k / 24; site != 7 && read[k] != 0) {  // odd sites are not stored
        ASSERT_NEAR(read[k], 0.5, 1e-6) << "site " << site << ", " << name_of(spec);
      }
  }
}

TEST(NotFinite, links_are_refused_where_they_are_compressed) {
  const Coord extents{4, 4, 4, 4};
  const LatticePtr lattice = make_lattice(extents);
  for (const double bad : {nan, infinity})
    for (size_t i = 0; i < 9; ++i) {
      GaugeField U = test::to_product(lattice, test::random_gauge(extents, 7), 4);
      Link link = U.link({1, 2, 3, 0}, 2);
      link[i] = {link[i].real(), bad};
      HopLinks stored(U, Precision::half_precision, 18);
      U.set_link({1, 2, 3, 0}, 2, link);
      for (const Backend backend : {Backend::cpu, Backend::gpu_emulated})
        for (const Precision p : all_precisions)
          for (const int reals : {18, 14, 12, 8}) {
            if (reals == 18 && !is_16_bit(p)) continue;  // they are kept as they are
            if (!has_link_storage(p, reals)) continue;
            try {
              HopLinks links(U, p, reals, backend);
              ADD_FAILURE() << "component " << i << " = " << bad << " was stored as " << reals << " reals";
            } catch (const BadArgument& e) {
              EXPECT_NE(std::string(e.what()).find("NaN or infinity"), std::string::npos) << e.what();
            }
          }
      EXPECT_THROW(stored.refill(U), BadArgument);
    }
}

TEST(NotFinite, shows_in_the_largest_force_and_flow_step) {
  const Coord extents{4, 4, 4, 4};
  const LatticePtr lattice = make_lattice(extents);
  for (const int lanes : {1, 4, 8, 16}) {
    GaugeField U = test::to_product(lattice, test::random_gauge(extents, 7), lanes);
    Link link = U.link({1, 2, 3, 0}, 2);
    link[5] = {nan, 0};
    U.set_link({1, 2, 3, 0}, 2, link);
    EXPECT_TRUE(std::isinf(force_size(force(GaugeAction{.beta = 6.0}, U)).largest));
    GradientFlow flow(U);
    EXPECT_FALSE(std::isfinite(flow.step_with_error(0.01)));
  }
}

}  // namespace in_test_not_finite
}  // namespace trellis
