#pragma once
/// A level between the finest and the coarsest is set up here: test vectors that come from the level above,
/// and some of its own, are improved by the cycle that they make.
#include "trellis/multigrid/cycle.hpp"
#include "trellis/multigrid/hierarchy.hpp"

namespace trellis {

class CoarseSetup {
 public:
  /// @param D is that of the level @param level is 1 for the second lattice
  /// @param params is complete @param report gains what was done, for this level and those below
  CoarseSetup(CoarseMatrixPtr D, int level, const MultigridParams& params, MultigridSetupReport& report,
              SolveCost& cost);
  /// Makes the levels below, from test vectors of the level above as fields of this one. Where they are fewer
  /// than this level has, smoothed noise makes up the others. Collective.
  /// @throws NumericError: vectors depend on each other, and so did the noise that replaced them
  std::vector<CoarserLevel> from_vectors(const SiteField& given, int sweeps);

 private:
  void smooth(SiteField& vectors);
  void improve(SiteField& vectors);
  /// Makes P and the matrices below; vectors of which they cannot be made are replaced by smoothed noise.
  void build(SiteField& vectors, int sweeps);
  std::vector<int> orthonormalise(const SiteField& vectors);
  bool has_next();
  SiteField smoothed_noise(const std::vector<int>& numbers);
  MultigridLevelReport& own() { return report_.coarse_levels[size_t(level_) - 1]; }
  bool is_last() const { return level_ + 2 == params_.levels; }

  CoarseMatrixPtr D_;
  int level_;
  const MultigridParams& params_;
  MultigridSetupReport& report_;
  SolveCost& cost_;
  OperatorCopies operator_;
  std::shared_ptr<CoarseProlongator> prolongator_;
  CoarseMatrixPtr next_;
  std::vector<CoarserLevel> below_;  ///< they are those of the next level
  DenseMatrix gram_;                 ///< they are the products of the test vectors of which P is made
  int noises_ = 0;                   ///< vectors were replaced so often, each time by other noise
};

}  // namespace trellis
