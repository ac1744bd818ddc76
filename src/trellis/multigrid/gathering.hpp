#pragma once
/// A coarse lattice lies on fewer ranks than share the fine one: where a rank would have too few coarse sites
/// to work on, a few ranks take them all, and the others sleep until the coarse solution comes. Bits do not
/// depend on it.
#include <functional>
#include <map>
#include <memory>

#include "trellis/field/halo/field_redistribution.hpp"
#include "trellis/multigrid/coarse_operator.hpp"
#include "trellis/solver/operator_copies.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// It says on how many ranks a coarse lattice lies, and how they cut it.
struct CoarseRanks {
  int count = 0;
  Coord grid{1, 1, 1, 1};
};
/// Applies the rule, which goes by counts alone: all ranks keep their sites where each has at least 4, and
/// whole boxes; else the largest number of ranks takes them with which each has at least 8 sites, and whole
/// boxes.
/// @param wanted is the largest number of ranks in the place of the rule; 0 takes the rule
/// @param box has the extents that no rank cuts; {1, 1, 1, 1}: any cut will do
/// @throws BadArgument: the lattice has no whole number of boxes
CoarseRanks choose_coarse_ranks(const Coord& coarse, const Coord& grid, int wanted, const Coord& box);

class CoarseGathering {
 public:
  /// Gathers on the first `ranks.count` ranks of the lattice: they lie on as few nodes as can be. Collective.
  /// @pre they are fewer than all ranks, which the grid cuts into equal parts
  CoarseGathering(LatticePtr all, const CoarseRanks& ranks);

  const LatticePtr& all() const { return all_; }
  /// Returns null on ranks that wait.
  const LatticePtr& few() const { return few_; }
  const CoarseRanks& ranks() const { return ranks_; }

  /// Returns the matrices of D on the few ranks, in the same storage, and null on others. Collective.
  CoarseMatrixPtr gathered(const CoarseMatrix& D) const;
  /// Runs f on the few ranks, where an Error that it throws is thrown on all ranks. Collective.
  void on_few(const std::function<void()>& f) const;
  /// Does the same where f books its cost: flops and bytes then are those of all ranks, the rest is that of
  /// this rank.
  void run(const std::function<void()>& f, Cost& cost) const;
  /// Says how fields like this one move.
  FieldRedistribution& redistribution(const SiteField& like) const;

  /// It holds what the few ranks tell the others, who sleep until then. Collective.
  struct Note {
    double flops = 0, conventional_flops = 0, bytes = 0;
  };
  void tell(Note& note) const;
  /// Returns the cost of tell(): messages of this rank.
  Cost cost_of_telling() const;

 private:
  std::vector<int> few_ranks() const;
  LatticePtr all_, few_;
  CoarseRanks ranks_;
  mutable std::vector<std::pair<FieldSpec, std::unique_ptr<FieldRedistribution>>> redistributions_;
  std::vector<Message> told_;  ///< this rank tells them
  std::unique_ptr<Exchange> telling_;
};
using CoarseGatheringPtr = std::shared_ptr<const CoarseGathering>;

/// It is the coarse operator as all ranks see it, with its matrices on few of them.
class GatheredCoarseOperator final : public LinearOperator {
 public:
  /// Makes the operator. Collective. @param few comes from gathering->gathered(), null on ranks that wait
  /// @param domain is that of fields of one right-hand side on all ranks
  GatheredCoarseOperator(CoarseGatheringPtr gathering, CoarseMatrixPtr few, const FieldSpec& domain);
  FieldSpec domain(int columns = 1) const override;
  const LatticePtr& domain_lattice() const override { return gathering_->all(); }
  Cost cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override;

  const CoarseGathering& gathering() const { return *gathering_; }
  /// Returns what solvers make of the operator on the few ranks; null on others.
  const OperatorCopies* few() const { return copies_.get(); }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  CoarseGatheringPtr gathering_;
  CoarseMatrixPtr matrix_;
  FieldSpec domain_;
  std::unique_ptr<const OperatorCopies> copies_;
  CoarseGathering::Note of_one_, of_two_;  ///< they hold flops and bytes with one column and with two
  Cost moving_;                            ///< one column costs this to the few ranks and back
};

/// It is a solver of a coarse operator, on the few ranks where the operator is gathered there.
struct GatheredSpec {
  SolverSpec solver;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

/// Returns null where all ranks keep their sites; see choose_coarse_ranks(). Collective.
CoarseGatheringPtr gathering_for(const LatticePtr& coarse, int wanted, const Coord& box);
/// Returns what solvers apply: D on all ranks where `gathering` is null, else on few.
/// @param few comes from gathering->gathered() @param domain as above
LinearOperatorPtr coarse_operator_on(const CoarseGatheringPtr& gathering, const CoarseMatrixPtr& matrix,
                                     const FieldSpec& domain);

}  // namespace trellis
