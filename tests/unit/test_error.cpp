#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trellis/base/error.hpp"

namespace trellis {
namespace in_test_error {

TEST(Message, numbers_have_as_many_digits_as_they_need) {
  EXPECT_EQ(message("M5 = ", 2.3, " of ", 3, ", ", 1e-14, ", ", 100000.0), "M5 = 2.3 of 3, 1e-14, 100000");
  EXPECT_EQ(message(std::complex<double>(0.1, -std::numeric_limits<double>::infinity())), "(0.1, -inf)");
  EXPECT_EQ(message(std::nan("")), "nan");
  for (const double x : {1.0 / 3, 4 * std::atan(1.0), 1e300 / 7, 123456789.125, 1e-300})
    EXPECT_EQ(std::stod(message(0.5 * x + 0.5 * x)), 0.5 * x + 0.5 * x);
}

}  // namespace in_test_error
}  // namespace trellis
