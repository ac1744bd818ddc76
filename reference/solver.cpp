#include "reference/solver.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

Solution solve(const SpinorOperator& M, const SpinorOperator& M_dagger, const SpinorVector& b,
               double tolerance, int max_iterations) {
  Solution result;
  result.x = zero_spinors(int64_t(b.size()));
  const double b2 = norm2(b);
  if (b2 == 0) return result;
  SpinorVector residual = b;            // it is b - M x, updated along
  SpinorVector s = M_dagger(residual);  // it is the residual of the normal equations
  SpinorVector p = s;
  double s2 = norm2(s);
  while (norm2(residual) > tolerance * tolerance * b2) {
    if (result.iterations++ == max_iterations)
      throw NumericError(message("reference solver: relative residual ", std::sqrt(norm2(residual) / b2),
                                 " after ", max_iterations, " iterations, wanted ", tolerance));
    const SpinorVector Mp = M(p);
    const double alpha = s2 / norm2(Mp);
    add_scaled(result.x, alpha, p);
    add_scaled(residual, -alpha, Mp);
    s = M_dagger(residual);
    const double s2_new = norm2(s);
    SpinorVector next = s;
    add_scaled(next, s2_new / s2, p);
    p = next;
    s2 = s2_new;
  }
  result.relative_residual = std::sqrt(norm2(difference(b, M(result.x))) / b2);
  return result;
}

Propagator propagator(const WilsonOperator& D, const Propagator& source, double tolerance) {
  Propagator S = source;
  for (size_t column = 0; column < 12; ++column)
    S.columns[column] =
        solve([&](const SpinorVector& v) { return D.apply(v); },
              [&](const SpinorVector& v) { return D.apply_dagger(v); }, source.columns[column], tolerance)
            .x;
  return S;
}

}  // namespace trellis::reference
