#pragma once
/// Trellis has its own angle of a point in the plane, in double: the operations are the same, hence the bits,
/// on the host and on a GPU. The error is below 2.5 ulp (tests/unit/test_lane_math.cpp).
#include "trellis/algebra/lane_math.hpp"

namespace trellis {

namespace detail {
/// Returns atan(q) for q in [0, 1]: atan(k/8) + atan(z), z = (q - k/8) / (1 + q k/8), |z| <= 1/15, by
/// Taylor's series.
TRELLIS_SITE_FN double arc_tangent_of_ratio(double q) {
  constexpr double of_eighths[9] = {0.0,
                                    0.12435499454676144,
                                    0.24497866312686414,
                                    0.35877067027057225,
                                    0.4636476090008061,
                                    0.5585993153435624,
                                    0.6435011087932844,
                                    0.7188299996216245,
                                    0.7853981633974483};
  constexpr double terms[] = {-1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13};
  const double k = nearest_integer(8.0 * q);
  const double z = fma(-0.125, k, q) / fma(0.125 * k, q, 1.0), square = z * z;
  return of_eighths[int(k)] + fma(z * square, polynomial(square, terms), z);
}
}  // namespace detail

/// Returns the angle of (x, y) in (-pi, pi], as std::atan2(y, x) does, and 0 for the origin.
TRELLIS_SITE_FN double arc_tangent(double y, double x) {
  constexpr double half_turn = 3.1415926535897931, quarter_turn = 1.5707963267948966;
  const double a = x < 0 ? -x : x, b = y < 0 ? -y : y;
  if (a == 0 && b == 0) return 0.0;
  double angle =
      b <= a ? detail::arc_tangent_of_ratio(b / a) : quarter_turn - detail::arc_tangent_of_ratio(a / b);
  if (x < 0) angle = half_turn - angle;
  return y < 0 ? -angle : angle;
}

}  // namespace trellis
