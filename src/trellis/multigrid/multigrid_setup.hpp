#pragma once
/// The set-up is adaptive: random vectors are smoothed, and then improved by the cycle that they make.
#include <functional>

#include "trellis/base/clock.hpp"
#include "trellis/multigrid/cycle.hpp"

namespace trellis {

/// A set-up and an iteration of a solve of one column are expected to take this, as price_of() has it.
struct MultigridForecast {
  double setup, iteration;
};

/// These test vectors follow each other, the first one behind the last one.
struct SomeVectors {
  int first = 0;
  int count = 0;
};

class MultigridSetup {
 public:
  /// @param M has any storage and lanes
  MultigridSetup(const WilsonMatrix& M, const MultigridParams& params);
  /// Starts from random vectors.
  MultigridPtr from_noise();
  /// Makes `sweeps` sweeps from vectors of another set-up, which may have another storage.
  MultigridPtr from_vectors(const SpinorField& vectors, int sweeps);
  /// Does the same from those of a multigrid. Its columns of P would not do: they lie in the same space, but
  /// from block to block they have nothing to do with each other, and are no low modes.
  MultigridPtr from_vectors_of(const Multigrid& other, int sweeps);
  /// Returns a multigrid for links that have moved a little: one cycle of the multigrid as it was improves
  /// some of its test vectors, and P and D_c are made once. The cycle has the old coarse space and the
  /// smoother and residuals of these links. A sweep of from_vectors_of() makes P and D_c twice.
  MultigridPtr refreshed(const Multigrid& other, const SomeVectors& improved);
  /// Takes the columns of P as another set-up left them: they are not made orthonormal again.
  /// @param fill sets the columns, and the coefficients of the test vectors
  /// @param fill_coarse sets the columns between the level, 1 for the second lattice, and the one below
  /// @param report is the one of that set-up
  MultigridPtr from_columns(const std::function<void(SpinorField&, SiteField&)>& fill,
                            const std::function<void(int level, SiteField&)>& fill_coarse,
                            MultigridSetupReport report);
  /// Takes P and D_c of links from which these have moved a little, as they are: smoother and residuals are
  /// those of these links.
  MultigridPtr with_coarse_space_of(const Multigrid& other);
  /// Returns the price of so many sweeps before they are made, from noise: nothing is computed but one
  /// application of the smoother. Coarse solves are taken to be of average length.
  MultigridForecast forecast(int sweeps) const;

 private:
  void smooth(SpinorField& vectors);
  void orthogonalise(SpinorField& vectors);
  /// Calls use(cycle) with cycle(what for, columns), one cycle of the present levels, or of those given.
  template <class Use>
  void with_present_cycle(const Use& use);
  template <class Use>
  void with_cycle_of(const MultigridHierarchy& levels, const Use& use);
  void improve(SpinorField& vectors);
  void improve_some(SpinorField& vectors, const MultigridHierarchy& levels, const SomeVectors& some);
  /// Makes P and D_c, and all levels below with so many sweeps of their own; vectors of which P and D_c
  /// cannot be made are replaced by smoothed noise.
  void build(SpinorField& vectors, int coarse_sweeps);
  std::vector<int> orthonormalise(const SpinorField& vectors);
  bool has_coarse_operator();
  void set_second(const CoarseMatrixPtr& everywhere);
  void place_coarsest();
  CoarseMatrixPtr on_few(const LatticePtr& lattice, const CoarseMatrixPtr& everywhere);
  void replace(SpinorField& vectors, const std::vector<int>& numbers);
  void sweep(SpinorField& vectors, int sweeps);
  /// Sweeps while that pays for the sources (sweep_rule.hpp).
  void sweep_by_rule(SpinorField& vectors);
  /// Makes the multigrid. @param watch is that of the whole set-up; null: the report says how long it took
  MultigridPtr finish(const Stopwatch* watch);
  /// Computes v <- K v, normalised, a few vectors at a time; make(columns) gives K for so many.
  template <class Make>
  void replace_in_parts(SpinorField& vectors, const Make& make);
  void record_residuals(const SpinorField& vectors);
  bool is_rounded() const { return *params_.prolongator_storage != params_.storage; }
  MultigridHierarchy hierarchy() const { return {prolongator_, coarse_, coarser_, gathering_}; }
  /// Returns a field like the test vectors, once there is a P.
  SpinorField& workspace();

  MultigridParams params_;
  WilsonMatrixPtr matrix_;
  std::shared_ptr<const WilsonOperator> operator_;
  OperatorCopies fine_;
  std::shared_ptr<Prolongator> prolongator_;
  std::shared_ptr<SiteField> coefficients_;  ///< they are c_k with v_k = P c_k
  uint32_t noises_ = 0;                      ///< vectors were replaced so often, each time by other noise
  CoarseMatrixPtr coarse_;
  std::vector<CoarserLevel> coarser_;
  CoarseGatheringPtr gathering_;
  bool coarse_is_placed_ = false;  ///< it says whether gathering_ is decided
  bool records_residuals_ = true;  ///< it records |M v| of the test vectors, at the price of as many
                                   ///< applications
  DenseMatrix gram_;               ///< they are the products of the test vectors of which P is made
  std::optional<SpinorField> image_;
  MultigridSetupReport report_;
  SolveCost cost_;
};

}  // namespace trellis
