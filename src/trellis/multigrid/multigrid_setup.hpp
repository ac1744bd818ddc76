#pragma once
/// The adaptive set-up: random vectors are smoothed, and then improved by the cycle that they make.
#include "trellis/multigrid/cycle.hpp"

namespace trellis {

class MultigridSetup {
 public:
  /// @param M any storage and lanes
  MultigridSetup(const WilsonMatrix& M, const MultigridParams& params);
  /// From random vectors.
  MultigridPtr from_noise();
  /// `sweeps` sweeps from vectors of another set-up, which may have another storage.
  MultigridPtr from_vectors(const SpinorField& vectors, int sweeps);
  /// The columns as they are.
  MultigridPtr with_prolongator(std::shared_ptr<const Prolongator> P);

 private:
  void fill_with_noise(SpinorField& vectors) const;
  void smooth(SpinorField& vectors);
  void orthogonalise(SpinorField& vectors);
  void improve(SpinorField& vectors);
  void build(const SpinorField& vectors);
  void sweep(SpinorField& vectors, int sweeps);
  MultigridPtr finish();
  /// v <- K v, normalised, a few vectors at a time; make(columns) gives K for so many.
  template <class Make>
  void replace_in_parts(SpinorField& vectors, const Make& make);
  void record_residuals(const SpinorField& vectors);

  MultigridParams params_;
  WilsonMatrixPtr matrix_;
  std::shared_ptr<const WilsonOperator> operator_;
  OperatorCopies fine_;
  std::shared_ptr<Prolongator> prolongator_;
  CoarseMatrixPtr coarse_;
  DenseMatrix gram_;                  ///< products of the test vectors of which P is made
  std::optional<SpinorField> image_;  ///< for whoever needs a field like the test vectors
  MultigridSetupReport report_;
  SolveCost cost_;
};

}  // namespace trellis
