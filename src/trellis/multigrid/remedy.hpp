#pragma once
/// This is done to a multigrid whose solve is stuck, before conjugate gradients take over: one sweep more,
/// then a set-up from other noise.
///
/// The mended multigrid serves the rest of that solve alone, and is a function of the stuck one and of the
/// operator. So no solve depends on those before it.
#include "trellis/multigrid/multigrid.hpp"

namespace trellis {

class MultigridRemedy {
 public:
  enum class Kind { sweep, other_noise };
  explicit MultigridRemedy(Kind kind) : kind_{kind} {}
  /// Returns the next remedy after one, or the first after null, and null where there is none left.
  static std::shared_ptr<const MultigridRemedy> after(const MultigridRemedy* earlier);

  /// Returns ", after one sweep more", for instance.
  std::string words() const;
  /// Returns the mended multigrid for M; the first call makes it, and those for other batches of the solve
  /// take it. Collective.
  /// @throws NumericError: the set-up fails
  MultigridPtr apply(const Multigrid& stuck, const WilsonOperator& M, SolveCost& cost) const;

 private:
  Kind kind_;
  mutable MultigridPtr mended_;
};

}  // namespace trellis
