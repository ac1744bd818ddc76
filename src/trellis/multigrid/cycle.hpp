#pragma once
/// One multigrid cycle of two levels.
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/solver/operator_copies.hpp"

namespace trellis {

/// A set-up works in the storage of the test vectors, whose small parts it improves; solves may smooth in 16
/// bits.
enum class CycleUse { setup, solve };

class TwoLevelCycle final : public ApproximateInverse {
 public:
  /// For fields like those of `fine` with so many right-hand sides. Everything given outlives the cycle.
  /// @param modes of the coarse even-odd system; may be null
  TwoLevelCycle(const OperatorCopies& fine, const Prolongator& P, const OperatorCopies& coarse,
                const std::shared_ptr<const Eigenvectors>& modes, const MultigridParams& params, CycleUse use,
                int columns, MultigridProfile* profile = nullptr);
  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override;

 private:
  const OperatorCopies& fine_;
  const Prolongator& P_;
  std::unique_ptr<ApproximateInverse> coarse_solver_, smoother_;
  SiteField coarse_residual_, coarse_solution_;
  SpinorField residual_, step_;
  MultigridProfile* profile_;  ///< may be null
};

/// z ~ M^-1 r from zero by so many Schwarz cycles, or steps of even-odd minimal residual.
/// @pre params is complete
SolverSpec smoother(const MultigridParams& params, int smoothing, Precision storage);

/// A coarse solve, for what it costs. Its right-hand side is the solution for a random one, and so rich in
/// low modes as the residuals of a light quark are.
void try_coarse_solve(const OperatorCopies& coarse, const MultigridParams& params, SolveCost& cost);

}  // namespace trellis
