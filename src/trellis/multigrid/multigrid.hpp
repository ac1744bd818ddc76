#pragma once
/// Adaptive aggregation-based multigrid for Wilson, clover and twisted-mass quarks (A. Frommer, K. Kahl, S.
/// Krieg, B. Leder, M. Rottmann, arXiv:1303.1377), as a value that belongs to an operator.
///
/// One cycle, K ~ M^-1:  x = P D_c^-1 P^dagger r, D_c^-1 being solved loosely; then x += smoother of r - M x.
#include <memory>
#include <optional>

#include "trellis/multigrid/hierarchy.hpp"
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

/// What a level between the finest and the coarsest does with a residual: flexible GCR with its own cycle as
/// preconditioner, or one cycle (for comparison).
enum class MultigridCycleKind { k, v };
/// "k" and "v". @throws BadArgument: another name
const char* name_of(MultigridCycleKind cycle);
MultigridCycleKind cycle_by_name(const std::string& name);
/// How the coarsest even-odd system is solved: GCR alone, or preconditioned by the additive Schwarz method on
/// boxes of 2^4 coarse sites, which asks for fewer messages and sums.
enum class CoarseSolver { gcr, schwarz };
/// "gcr" and "schwarz". @throws BadArgument: another name
const char* name_of(CoarseSolver solver);
CoarseSolver coarse_solver_by_name(const std::string& name);

struct MultigridParams {
  Coord block{0, 0, 0, 0};  ///< extents of aggregates; 0: the legal ones that are nearest to 4
  int vectors = 20;         ///< test vectors
  /// Lattices, the finest one included; by_rule_of_levels: three where the second has more than 4096 sites
  /// and blocks of at least 8, else two.
  int levels = by_rule_of_levels;
  static constexpr int by_rule_of_levels = 0;
  /// Of the second lattice and those below, but for the coarsest: aggregates of coarse sites, and test
  /// vectors. What is not given: the legal extents nearest to 2, and about 1.4 times the vectors of the level
  /// above.
  std::vector<Coord> coarse_blocks;
  std::vector<int> coarse_vectors;
  int coarse_smoothing = 4;  ///< steps of GCR on the even-odd system of these levels
  int coarse_sweeps = 2;     ///< of their set-up, with the cycle of the level
  MultigridCycleKind cycle = MultigridCycleKind::k;
  /// The flexible GCR of a K-cycle has steps until it restarts, restarts at most, and its tolerance.
  int cycle_length = 5, cycle_restarts = 2;
  double cycle_tolerance = 0.1;
  int sweeps = 3;  ///< of the set-up with the present cycle; with `sources` those that were made
  /// More than 0: the set-up sweeps while that saves work in so many solves (sweep_rule.hpp).
  int sources = 0;
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
  CoarseSolver coarse_solver = CoarseSolver::gcr;  ///< of the cycles of solves; set-up takes gcr
  /// Ranks that have the coarse lattice, at most; 0: all, or fewer where a rank would have less than 4 coarse
  /// sites (choose_coarse_ranks). The others sleep. No bit depends on it.
  int coarse_ranks = 0;
  Precision storage = Precision::single_precision;  ///< of the test vectors and of the work inside
  /// Of the smoother in solves; set-up smooths in `storage`. Nothing: float in Schwarz blocks, which fit the
  /// cache, and half for minimal residual.
  std::optional<Precision> smoother_storage;
  /// Of P in cycles. Nothing: 16-bit fixed point where `storage` is single precision.
  std::optional<Precision> prolongator_storage;
  Precision coarse_storage = Precision::single_precision;  ///< of coarse matrices in solves: half is smaller
  uint64_t seed = 1;

  bool operator==(const MultigridParams&) const = default;
};

/// What set-up did on a level between the finest and the coarsest.
struct MultigridLevelReport {
  std::vector<double> residual;  ///< mean |D v| / |v| of its test vectors at first and after each sweep
  double worst_residual = 0;     ///< of a single vector, at the end
  double condition = 0;          ///< largest estimate of a diagonal matrix of the next level
  double seconds = 0;            ///< of the last time that it was set up

  bool operator==(const MultigridLevelReport&) const = default;
};

/// How a solve converges after so many sweeps of a set-up.
struct MultigridTrial {
  int sweeps = 0;
  double iterations_per_digit = 0;  ///< in which the residual falls by a factor of 10
  double price_of_iteration = 0;    ///< as price_of() has it, for one column

  bool operator==(const MultigridTrial&) const = default;
};

/// What set-up did.
struct MultigridSetupReport {
  std::vector<double> residual;  ///< mean |M v| / |v| of the test vectors at first and after each sweep
  double worst_residual = 0;     ///< of a single vector, at the end
  double condition = 0;          ///< largest estimate of a diagonal matrix of the coarse operator
  double seconds = 0;            ///< in all, and of its parts
  double seconds_of_smoothing = 0, seconds_of_sweeps = 0, seconds_of_orthonormalisation = 0,
         seconds_of_coarse_operator = 0;
  double seconds_of_trials = 0;
  double seconds_of_coarse_modes = 0;               ///< a part of `seconds`; those of shifts are not
  double seconds_of_coarse_levels = 0;              ///< of the set-ups of all levels below the second lattice
  std::vector<MultigridLevelReport> coarse_levels;  ///< the second lattice and on, but for the coarsest
  std::vector<std::string> notes;                   ///< what was mended on the way, a sentence each
  std::vector<MultigridTrial> trials;  ///< of a set-up that chose its sweeps: one before each decision
  double price_of_sweep = 0;           ///< with which they were compared
  Cost cost;
};

/// What the cycles of one level took in solves, seconds on this rank.
struct MultigridProfile {
  struct Part {
    double seconds = 0;
    Cost cost;
  };
  int64_t cycles = 0;
  int64_t columns = 0;  ///< summed over cycles
  Part transfer, coarse, residual,
      smoother;  ///< P and P^dagger, D_c^-1 with all levels below, r - M x, smoother
};

struct CycleLevel;  // cycle.hpp

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
  size_t memory() const override { return hierarchy_.bytes(); }

  /// The operator, and that of each level below (the second lattice has the level 1), with all that solvers
  /// make of them.
  const OperatorCopies& fine() const { return fine_copies_; }
  const OperatorCopies& coarse_operator(int level = 1) const { return coarse_copies_[size_t(level) - 1]; }
  int levels() const { return hierarchy_.levels(); }
  /// As a cycle goes through them.
  std::vector<CycleLevel> cycle_levels() const;
  /// Of the coarsest level; null where there are none.
  const std::shared_ptr<const Eigenvectors>& coarse_modes() const { return coarse_modes_; }

  /// Makes one cycle for A, in A's storage.
  std::unique_ptr<ApproximateInverse> cycle(const LinearOperator& A, int columns) const;

  const MultigridParams& params() const { return params_; }
  /// Of all solves so far, with those of shifted operators; of all levels but the coarsest.
  const MultigridProfile& profile(int level = 0) const { return (*profiles_)[size_t(level)]; }
  /// Applications of the even-odd system of the coarsest level in a solve of it, on the average of all so
  /// far; 0 where there was none.
  double coarsest_applications() const;
  const MultigridSetupReport& report() const { return report_; }
  const MultigridHierarchy& hierarchy() const { return hierarchy_; }
  const Prolongator& prolongator() const { return *hierarchy_.prolongator; }
  /// Of the second lattice; null where it is the coarsest, on ranks that wait while few ranks solve its
  /// system.
  const CoarseMatrixPtr& coarse() const { return hierarchy_.second; }
  /// c with v_k = P c_k of the test vectors v_k of which P was made.
  const std::shared_ptr<const SiteField>& coefficients() const { return coefficients_; }
  /// Is null where all ranks have a part of these matrices.
  const CoarseGatheringPtr& gathering() const { return hierarchy_.gathering; }
  const WilsonMatrixPtr& matrix() const { return matrix_; }
  /// The parameters for which the coarse operator was built; at() shifts it from there.
  const WilsonParams& built_at() const { return built_at_; }

 private:
  friend class MultigridSetup;
  Multigrid(MultigridParams params, WilsonMatrixPtr matrix, MultigridHierarchy hierarchy,
            MultigridSetupReport report);
  MultigridParams params_;
  WilsonMatrixPtr matrix_;  ///< in the storage and the site order of the prolongator
  MultigridHierarchy hierarchy_;
  MultigridSetupReport report_;
  std::shared_ptr<const SiteField> coefficients_;
  MultigridHierarchy built_;  ///< hierarchy_ before shifts
  WilsonParams built_at_;
  OperatorCopies fine_copies_;  ///< and those of all levels below, made once for all cycles
  std::vector<OperatorCopies> coarse_copies_;
  std::shared_ptr<const Eigenvectors> make_coarse_modes();
  std::shared_ptr<const Eigenvectors> coarse_modes_;
  std::shared_ptr<std::vector<MultigridProfile>> profiles_;
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
  int batch = 0;  ///< right-hand sides that are solved for together; 0: columns_per_batch()
  /// What is done to the multigrid before this solve, which goes on from one that was stuck; null: nothing.
  std::shared_ptr<const MultigridRemedy> remedy = nullptr;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

}  // namespace trellis
