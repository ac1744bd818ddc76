/// Between all storages, lane counts and layouts convert() gives what is read and stored site by site, bit
/// for bit.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {
namespace in_test_field_conversion {

std::vector<FieldSpec> all_specs(int reals, int rhs) {
  std::vector<FieldSpec> specs;
  for (const Precision p : all_precisions) {
    for (const int lanes : {1, 4, 8, 16}) specs.push_back({p, Subset::odd, rhs, reals, Backend::cpu, lanes});
    specs.push_back({p, Subset::odd, rhs, reals, Backend::gpu_emulated, 0});
  }
  return specs;
}

TEST(FieldConversion, equals_reading_and_storing_sites) {
  // The second lattice splits into 16 lanes: pairs of blocks of 8.
  for (const auto& [reals, lattice] :
       std::vector<std::pair<int, LatticePtr>>{{6, make_lattice({4, 2, 6, 8})},
                                               {24, make_lattice({4, 2, 6, 8})},
                                               {72, make_lattice({4, 2, 6, 8})},
                                               {6, make_lattice({4, 4, 4, 8})},
                                               {24, make_lattice({4, 4, 4, 8})}}) {
    const size_t size = size_t(lattice->geometry().local_volume()) * size_t(reals);
    test::Random random(uint64_t(reals) + 1);
    std::vector<double> values(size), read(size), found(size), expected(size);
    for (double& v : values) v = random.symmetric() * std::exp(10 * random.symmetric());  // fp16 holds it
    for (const FieldSpec& from : all_specs(reals, 2)) {
      SpinorField in(lattice, from);
      in.from_canonical(values.data(), 1);
      in.to_canonical(read.data(), 1);
      for (const FieldSpec& to : all_specs(reals, 2)) {
        SpinorField out(lattice, to), by_sites(lattice, to);
        convert(out, in);
        by_sites.from_canonical(read.data(), 1);
        out.to_canonical(found.data(), 1);
        by_sites.to_canonical(expected.data(), 1);
        ASSERT_TRUE(found == expected)
            << name_of(from.precision) << " with " << from.lanes << " lanes to " << name_of(to.precision)
            << " with " << to.lanes << ", " << reals << " reals";
        double norm = 0;
        for (const double v : found) norm += v * v;
        EXPECT_GT(norm, 1.0);
        if (reals != 72) {
          EXPECT_EQ(norm2_each(out)[0], 0.0);
        }
      }
    }
  }
}

TEST(FieldConversion, refuses_fields_that_differ_in_more_than_storage) {
  const LatticePtr lattice = make_lattice({4, 2, 2, 4});
  SpinorField even(lattice, {.subset = Subset::even}), odd(lattice, {.subset = Subset::odd});
  SpinorField two(lattice, {.subset = Subset::even, .rhs = 2});
  SpinorField elsewhere(make_lattice({2, 4, 2, 4}), {.subset = Subset::even});
  EXPECT_THROW(convert(even, odd), BadArgument);
  EXPECT_THROW(convert(even, two), BadArgument);
  EXPECT_THROW(convert(even, elsewhere), BadArgument);
}

TEST(FieldConversion, of_fields_that_were_made_apart) {
  const LatticePtr one = make_lattice({4, 2, 2, 4});
  SpinorField here(one, {.subset = Subset::even});
  SpinorField alike(make_lattice({4, 2, 2, 4}, {1, 1, 1, 1}), {.subset = Subset::even});
  EXPECT_NO_THROW(convert(here, alike));
  EXPECT_EQ(make_lattice({4, 2, 2, 4}), one);
  EXPECT_NE(make_lattice({4, 2, 4, 2}), one);
  EXPECT_NE(make_lattice({4, 2, 2, 4}, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>()), one);
}

}  // namespace in_test_field_conversion
}  // namespace trellis
