#pragma once
/// Adaptive aggregation-based multigrid for Wilson, clover and twisted-mass quarks (A. Frommer, K. Kahl, S.
/// Krieg, B. Leder, M. Rottmann, arXiv:1303.1377), as a value that belongs to an operator.
///
/// One cycle, K ~ M^-1:  x = P D_c^-1 P^dagger r, D_c^-1 being solved loosely; then x += smoother of r - M x.
#include <memory>
#include <optional>

#include "trellis/multigrid/coarse_operator.hpp"
#include "trellis/multigrid/prolongator.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/eigen/eigenvectors.hpp"
#include "trellis/solver/operator_copies.hpp"
#include "trellis/solver/preconditioner.hpp"
#include "trellis/solver/prepared.hpp"

namespace trellis {

/// What follows the coarse correction in a cycle: the Schwarz method, or even-odd minimal residual on the
/// whole lattice. The rule takes the first on CPUs where the aggregates have even extents, else the second.
enum class MultigridSmoother { by_rule, schwarz, minimal_residual };
/// "auto", "sap" and "mr". @throws BadArgument: another name
const char* name_of(MultigridSmoother smoother);
MultigridSmoother smoother_by_name(const std::string& name);

struct MultigridParams {
  Coord block{0, 0, 0, 0};  ///< extents of aggregates; 0: the legal ones that are nearest to 4
  int vectors = 20;         ///< test vectors
  int sweeps = 3;           ///< of the set-up with the present cycle
  MultigridSmoother smoother = MultigridSmoother::by_rule;
  int smoothing = 0;         ///< Schwarz cycles, or steps of minimal residual; 0: 3 of those, 6 of these
  int block_iterations = 4;  ///< steps of minimal residual in a Schwarz block
  Coord schwarz_block{0, 0, 0, 0};  ///< 0: that of the aggregates where it is even, else one near to 4
  double coarse_tolerance = 0.05, setup_coarse_tolerance = 0.2;
  /// Of the coarse solve. Restarts lose the lowest mode of a nearly exceptional field again and again.
  int coarse_iterations = 200, coarse_restart = 100;
  /// Low modes of the coarse even-odd system that deflate its solves; by_rule: 8 where solves are long.
  int coarse_modes = by_rule;
  static constexpr int by_rule = -1;
  Precision storage = Precision::single_precision;  ///< of the test vectors and of the work inside
  /// Of the smoother in solves; set-up smooths in `storage`. Nothing: float in Schwarz blocks, which fit the
  /// cache, and half for minimal residual.
  std::optional<Precision> smoother_storage;
  Precision coarse_storage = Precision::single_precision;  ///< of coarse matrices in solves: half is smaller
  uint64_t seed = 1;

  bool operator==(const MultigridParams&) const = default;
};

/// What set-up did.
struct MultigridSetupReport {
  std::vector<double> residual;  ///< mean |M v| / |v| of the test vectors at first and after each sweep
  double worst_residual = 0;     ///< of a single vector, at the end
  double condition = 0;          ///< largest estimate of a diagonal matrix of the coarse operator
  double seconds = 0;            ///< in all, and of its parts
  double seconds_of_smoothing = 0, seconds_of_sweeps = 0, seconds_of_orthonormalisation = 0,
         seconds_of_coarse_operator = 0;
  double seconds_of_coarse_modes = 0;  ///< a part of `seconds`; those of shifts are not
  std::vector<std::string> notes;      ///< what was mended on the way, a sentence each
  Cost cost;
};

/// What the cycles of solves took, seconds on this rank.
struct MultigridProfile {
  struct Part {
    double seconds = 0;
    Cost cost;
  };
  int64_t cycles = 0;
  int64_t columns = 0;                        ///< summed over cycles
  Part transfer, coarse, residual, smoother;  ///< P and P^dagger, D_c^-1, r - M x, smoother
};

class Multigrid final : public Prepared, public std::enable_shared_from_this<Multigrid> {
 public:
  /// Set-up: from random vectors, the same on any ranks, threads and lanes. Collective.
  /// Vectors that depend on each other in a block are replaced by noise, a few times.
  /// @throws BadArgument: the lattice cannot be cut into such blocks; NumericError: replacing did not help
  static std::shared_ptr<const Multigrid> make(const WilsonOperator& M, const MultigridParams& params);

  /// The same test vectors for another mass or twisted mass on the same links: P stays, and D_c is shifted
  /// exactly, from the one that was built, so that bits do not depend on the masses between.
  /// @throws NumericError: a diagonal matrix of the shifted coarse operator is singular
  std::shared_ptr<const Multigrid> at(const WilsonOperator& M) const;

  Multigrid(const Multigrid&) = delete;
  Multigrid& operator=(const Multigrid&) = delete;

  std::string name() const override;
  void require_belong_to(const LinearOperator& A) const override;
  /// For links that have moved a little: one sweep from the present vectors. @pre A is a WilsonOperator
  PreparedPtr updated(const LinearOperatorPtr& A) const override;
  size_t memory() const override { return prolongator_->bytes() + coarse_->bytes(); }

  /// The operator and its coarse operator with all that solvers make of them.
  const OperatorCopies& fine() const { return fine_copies_; }
  const OperatorCopies& coarse_operator() const { return coarse_copies_; }
  /// Null where there are none.
  const std::shared_ptr<const Eigenvectors>& coarse_modes() const { return coarse_modes_; }

  /// One cycle for A, in A's storage.
  std::unique_ptr<ApproximateInverse> cycle(const LinearOperator& A, int columns) const;

  const MultigridParams& params() const { return params_; }
  /// Of all solves so far, with those of shifted operators.
  const MultigridProfile& profile() const { return *profile_; }
  const MultigridSetupReport& report() const { return report_; }
  const Prolongator& prolongator() const { return *prolongator_; }
  /// c with v_k = P c_k of the test vectors v_k of which P was made.
  const std::shared_ptr<const SiteField>& coefficients() const { return coefficients_; }
  const CoarseMatrixPtr& coarse() const { return coarse_; }
  const WilsonMatrixPtr& matrix() const { return matrix_; }
  /// The parameters for which the coarse operator was built; at() shifts it from there.
  const WilsonParams& built_at() const { return built_at_; }

 private:
  friend class MultigridSetup;
  Multigrid(MultigridParams params, WilsonMatrixPtr matrix, std::shared_ptr<const Prolongator> prolongator,
            CoarseMatrixPtr coarse, MultigridSetupReport report);
  MultigridParams params_;
  WilsonMatrixPtr matrix_;  ///< in the storage and the site order of the prolongator
  std::shared_ptr<const Prolongator> prolongator_;
  CoarseMatrixPtr coarse_;
  MultigridSetupReport report_;
  std::shared_ptr<const SiteField> coefficients_;
  CoarseMatrixPtr built_;  ///< coarse_ before shifts
  WilsonParams built_at_;
  OperatorCopies fine_copies_, coarse_copies_;  ///< made once for all cycles
  std::shared_ptr<const Eigenvectors> make_coarse_modes();
  std::shared_ptr<const Eigenvectors> coarse_modes_;
  std::shared_ptr<MultigridProfile> profile_ = std::make_shared<MultigridProfile>();
  mutable std::shared_ptr<const Multigrid> shifted_;  ///< the last that at() made
};
using MultigridPtr = std::shared_ptr<const Multigrid>;

class MultigridRemedy;  // remedies.hpp

/// The solver: flexible GCR in single precision, true residuals in double. Inside another solver it is one
/// cycle.
struct MultigridSpec {
  MultigridPtr multigrid;
  double tolerance = 1e-10;
  int max_iterations = 10000;
  int restart_length = 10;
  bool records_history = false;
  bool fallback = true;
  int iterations = 0;
  std::vector<double> tightened = {};
  /// What is done to the multigrid before this solve, which goes on from one that was stuck; null: nothing.
  std::shared_ptr<const MultigridRemedy> remedy = nullptr;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

}  // namespace trellis
