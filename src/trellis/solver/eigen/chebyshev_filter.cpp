#include "trellis/solver/eigen/chebyshev_filter.hpp"

#include <utility>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"

namespace trellis {

ChebyshevFilter::ChebyshevFilter(const LinearOperator& A, int degree, double cutoff, double upper)
    : A_{A}, degree_{degree}, cutoff_{cutoff}, upper_{upper} {
  TRELLIS_REQUIRE(degree >= 1, "the degree of a Chebyshev filter is at least 1, not ", degree);
  TRELLIS_REQUIRE(0 < cutoff && cutoff < upper, "a Chebyshev filter needs 0 < cutoff < upper, not ", cutoff,
                  " and ", upper);
}

/// Computes T_1 = t, T_{k+1} = 2 t T_k - T_{k-1} with t = a + b A.
void ChebyshevFilter::apply(SpinorField& out, const SpinorField& in, SolveCost& cost) const {
  const double width = upper_ - cutoff_, a = (upper_ + cutoff_) / width, b = -2 / width;
  SpinorField previous = in, image = SpinorField::like(in);
  A_.apply(image, in);
  combine(out, a, in, b, image);
  for (int k = 1; k < degree_; ++k) {
    stop_together(in.lattice().communicator());
    A_.apply(image, out);
    combine(previous, 2 * b, image, -1.0, previous);
    combine(previous, 1.0, previous, 2 * a, out);
    std::swap(previous, out);
  }
  cost.add_applications(A_, in.rhs(), degree_);
  cost.add_linear_algebra(in, 6.0 * degree_, 7.0 * degree_, 2 * degree_ - 1, 0);
}

}  // namespace trellis
