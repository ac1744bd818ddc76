#include "trellis/solver/stagnation.hpp"

#include <algorithm>
#include <cmath>

namespace trellis {

namespace {
/// A solve may become so much faster than in its second half.
constexpr double hope = 4;
}  // namespace

void ResidualRecord::add(double residual2) {
  if (iterations_ % spacing == 0) smallest_after_.push_back(smallest_);
  ++iterations_;
  smallest_ = std::min(smallest_, residual2);
}

void ResidualRecord::correct(double residual2) {
  if (iterations_ == 0) {
    smallest_ = residual2;
    return;
  }
  smallest_ = std::max(smallest_, residual2);
  for (double& smallest : smallest_after_) smallest = std::max(smallest, residual2);
}

bool ResidualRecord::is_stuck(const StagnationRule& rule, double tolerance, int max_iterations) const {
  if (rule.least_iterations == 0 || iterations_ < rule.least_iterations || iterations_ % rule.spacing != 0)
    return false;
  const int half = iterations_ / 2 / rule.spacing * rule.spacing;
  const double before = std::sqrt(smallest_after_[size_t(half / spacing)]), now = std::sqrt(smallest_);
  if (!(now > rule.least_gain * before)) return false;
  const double rate = std::log(before / now) / double(iterations_ - half);
  const int most = rule.most_iterations > 0 ? std::min(rule.most_iterations, max_iterations) : max_iterations;
  const double reachable = hope * rate * double(std::max(most - iterations_, 0));
  return reachable < std::log(now / tolerance);
}

}  // namespace trellis
