#pragma once
/// This file does one multigrid cycle.
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/multigrid/transfer.hpp"
#include "trellis/solver/operator_copies.hpp"

namespace trellis {

/// It says who cycles. A set-up works in the storage of the test vectors, whose small parts it improves;
/// solves may smooth in 16 bits.
enum class CycleUse { setup, solve };

/// A level has an operator, and the way to the next level: null on the coarsest.
struct CycleLevel {
  const OperatorCopies* op;
  const Transfer* to_next = nullptr;
};

/// Returns the finest level and those below it, each with an operator. Everything given outlives the result.
std::vector<CycleLevel> cycle_levels(const OperatorCopies& fine, const std::vector<OperatorCopies>& coarse,
                                     const MultigridHierarchy& hierarchy);

/// It is a cycle of one level and of all below it. Below the finest level, all but the coarsest are solved by
/// flexible GCR with the cycle of their own as preconditioner (K-cycle), or pass through that cycle once
/// (V-cycle).
class MultigridCycle final : public ApproximateInverse {
 public:
  /// Makes a cycle for fields like those of the level with so many right-hand sides. Everything given
  /// outlives the cycle.
  /// @param levels begins with the finest, and has at least two @param level of this cycle is not the
  /// coarsest
  /// @param modes are those of the even-odd system of the coarsest; may be null
  /// @param profiles are those of all levels but the coarsest; may be null
  MultigridCycle(const std::vector<CycleLevel>& levels, size_t level,
                 const std::shared_ptr<const Eigenvectors>& modes, const MultigridParams& params,
                 CycleUse use, int columns, std::vector<MultigridProfile>* profiles = nullptr);
  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override;

 private:
  const OperatorCopies& fine_;
  const Transfer& P_;
  std::unique_ptr<ApproximateInverse> coarse_solver_, smoother_;
  SiteField coarse_residual_, coarse_solution_;
  SpinorField residual_, step_;
  MultigridProfile* profile_;  ///< it may be null
};

/// Makes what a level below the finest does with a residual: flexible GCR with its own cycle as
/// preconditioner, or that cycle; on the coarsest it is GCR on its even-odd system. Parameters are those of
/// the cycle.
std::unique_ptr<ApproximateInverse> level_solver(const std::vector<CycleLevel>& levels, size_t level,
                                                 const std::shared_ptr<const Eigenvectors>& modes,
                                                 const MultigridParams& params, CycleUse use, int columns,
                                                 std::vector<MultigridProfile>* profiles = nullptr);

/// Returns the solver z ~ M^-1 r from zero by so many Schwarz cycles, or steps of even-odd minimal residual.
/// @pre params is complete
SolverSpec smoother(const MultigridParams& params, int smoothing, Precision storage);

/// Does the same on a coarse level, by so many steps of GCR on its even-odd system.
SolverSpec coarse_smoother(int steps);

/// Makes a coarse solve to find its cost. Its right-hand side is the solution for a random one, and so rich
/// in low modes as the residuals of a light quark are.
void try_coarse_solve(const OperatorCopies& coarse, const MultigridParams& params, SolveCost& cost);

}  // namespace trellis
