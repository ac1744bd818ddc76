/// These tests find the ends of the spectrum of operators whose eigenvalues are known.
#include <gtest/gtest.h>

#include "tests/unit/solver_test_operators.hpp"
#include "trellis/base/error.hpp"
#include "trellis/update/pseudofermions.hpp"

namespace trellis {
namespace in_test_spectrum_ends {

/// Eigenvalues are dense at the lower end, which few steps miss by far.
TEST(SpectrumEnds, lower_end_to_the_accuracy_asked_for) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  const TrajectoryKey key{3, 0, 0};
  for (const double condition : {1e2, 1e4, 1e6}) {
    const auto A = test::make_positive(lattice, condition);
    LanczosSteps steps;
    steps.least = 10;
    const SpectrumEnds few = lanczos_ends(*A, steps, key);
    EXPECT_EQ(few.steps, 10);
    EXPECT_GT(few.smallest * condition, 1.5);
    steps.accuracy = 0.01;
    const SpectrumEnds found = lanczos_ends(*A, steps, key);
    EXPECT_GE(found.smallest * condition, 1 - 1e-9);
    EXPECT_LE(found.smallest * condition, 1.02);
    EXPECT_LE(found.smallest_error, 0.01 * found.smallest);
    EXPECT_GT(found.steps, few.steps);
    EXPECT_NEAR(found.largest, 1.0, 1e-6);
  }
}

TEST(SpectrumEnds, says_that_the_end_was_not_found) {
  const auto A = test::make_positive(make_lattice({4, 2, 2, 6}), 1e6);
  LanczosSteps steps;
  steps.least = 10;
  steps.most = 20;
  steps.accuracy = 0.01;
  try {
    lanczos_ends(*A, steps, {3, 0, 0});
    FAIL() << "the end was not found, and nothing was said";
  } catch (const NumericError& e) {
    EXPECT_NE(std::string(e.what()).find("which 20 Lanczos steps did not make out"), std::string::npos)
        << e.what();
  }
  steps.most = 5;
  EXPECT_THROW(lanczos_ends(*A, steps, {3, 0, 0}), BadArgument);
}

/// An operator with two eigenvalues is known whole after two steps.
TEST(SpectrumEnds, a_closed_space_ends_early) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 2});
  const auto two = [](double t) { return std::complex<double>(t < 0.5 ? 1.0 : 3.0); };
  const auto A = test::make_known(lattice, two, true, FieldSpec{});
  const SpectrumEnds found = lanczos_ends(*A, LanczosSteps{}, {3, 0, 0});
  EXPECT_EQ(found.steps, 2);
  EXPECT_NEAR(found.smallest, 1.0, 1e-12);
  EXPECT_NEAR(found.largest, 3.0, 1e-12);
}

}  // namespace in_test_spectrum_ends
}  // namespace trellis
