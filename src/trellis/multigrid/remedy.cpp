#include "trellis/multigrid/remedy.hpp"

#include "trellis/base/error.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"

namespace trellis {

namespace {
constexpr int further_sweeps = 2;
constexpr int longer_coarse_solves = 2;  // coarse solves may then take so many times the iterations

MultigridParams of_other_noise(MultigridParams params) {
  ++params.seed;
  params.sweeps += further_sweeps;
  params.sources = 0;  // it makes so many, and no fewer by rule
  params.coarse_iterations *= longer_coarse_solves;
  params.coarse_restart = params.coarse_iterations;
  return params;
}
}  // namespace

std::shared_ptr<const MultigridRemedy> MultigridRemedy::after(const MultigridRemedy* earlier) {
  if (!earlier) return std::make_shared<MultigridRemedy>(Kind::sweep);
  if (earlier->kind_ == Kind::sweep) return std::make_shared<MultigridRemedy>(Kind::other_noise);
  return nullptr;
}

std::string MultigridRemedy::words() const {
  if (kind_ == Kind::sweep) return ", after one sweep more";
  return message(", set up anew from other noise with ", further_sweeps, " sweeps more");
}

MultigridPtr MultigridRemedy::apply(const Multigrid& stuck, const WilsonOperator& M, SolveCost& cost) const {
  if (mended_) return mended_;
  if (kind_ == Kind::sweep)
    mended_ = MultigridSetup(*M.matrix(), stuck.params()).from_vectors_of(stuck, 1);
  else
    mended_ = MultigridSetup(*M.matrix(), of_other_noise(stuck.params())).from_noise();
  cost += mended_->report().cost;
  return mended_;
}

}  // namespace trellis
