#pragma once
/// This is adaptive aggregation-based multigrid for Wilson, clover and twisted-mass quarks (A. Frommer, K.
/// Kahl, S. Krieg, B. Leder, M. Rottmann, arXiv:1303.1377), as a value that belongs to an operator.
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

/// It follows the coarse correction in a cycle: the Schwarz method, or even-odd minimal residual on the whole
/// lattice. The rule takes the first on CPUs where the aggregates have even extents, else the second.
enum class MultigridSmoother { by_rule, schwarz, minimal_residual };
/// Names are "auto", "sap" and "mr". @throws BadArgument: another name
const char* name_of(MultigridSmoother smoother);
MultigridSmoother smoother_by_name(const std::string& name);

/// A level between the finest and the coarsest does this with a residual: flexible GCR with its own cycle as
/// preconditioner, or one cycle (for comparison).
enum class MultigridCycleKind { k, v };
/// Names are "k" and "v". @throws BadArgument: another name
const char* name_of(MultigridCycleKind cycle);
MultigridCycleKind cycle_by_name(const std::string& name);
/// The coarsest even-odd system is solved by this: GCR alone, or preconditioned by the additive Schwarz
/// method on boxes of 2^4 coarse sites, which asks for fewer messages and sums.
enum class CoarseSolver { gcr, schwarz };
/// Names are "gcr" and "schwarz". @throws BadArgument: another name
const char* name_of(CoarseSolver solver);
CoarseSolver coarse_solver_by_name(const std::string& name);

struct MultigridParams {
  Coord block{0, 0, 0, 0};  ///< aggregates have these extents; 0 takes the legal ones that are nearest to 4
  int vectors = 20;         ///< there are so many test vectors
  /// There are so many lattices, the finest one included; by_rule_of_levels takes three where the second has
  /// more than 4096 sites and blocks of at least 8, else two.
  int levels = by_rule_of_levels;
  static constexpr int by_rule_of_levels = 0;
  /// The second lattice and those below, but for the coarsest, have these aggregates of coarse sites, and so
  /// many test vectors. Where they are not given, the rule takes the legal extents nearest to 2, and about
  /// 1.4 times the vectors of the level above.
  std::vector<Coord> coarse_blocks;
  std::vector<int> coarse_vectors;
  int coarse_smoothing = 4;  ///< GCR takes so many steps on the even-odd system of these levels
  int coarse_sweeps = 2;     ///< their set-up sweeps so often, with the cycle of the level
  MultigridCycleKind cycle = MultigridCycleKind::k;
  /// The flexible GCR of a K-cycle has steps until it restarts, restarts at most, and its tolerance.
  int cycle_length = 5, cycle_restarts = 2;
  double cycle_tolerance = 0.1;
  int sweeps = 3;  ///< the set-up sweeps so often with the present cycle; with `sources` so many were made
  /// More than 0 makes the set-up sweep while that saves work in so many solves (sweep_rule.hpp).
  int sources = 0;
  MultigridSmoother smoother = MultigridSmoother::by_rule;
  int smoothing = 0;  ///< the smoother makes so many Schwarz cycles, or steps of minimal residual; 0 takes 3
                      ///< of those, 6 of these
  int block_iterations = 4;         ///< a Schwarz block takes so many steps of minimal residual
  Coord schwarz_block{0, 0, 0, 0};  ///< 0 takes that of the aggregates where it is even, else one near to 4
  double coarse_tolerance = 0.05, setup_coarse_tolerance = 0.2;
  /// The coarse solve has these. Restarts lose the lowest mode of a nearly exceptional field again and again.
  int coarse_iterations = 200, coarse_restart = 100;
  /// So many low modes of the coarse even-odd system deflate its solves; by_rule takes 8 where solves are
  /// long.
  int coarse_modes = by_rule;
  static constexpr int by_rule = -1;
  CoarseSolver coarse_solver = CoarseSolver::gcr;  ///< cycles of solves have this one; set-up takes gcr
  /// At most so many ranks have the coarse lattice; 0 takes all, or fewer where a rank would have less than 4
  /// coarse sites (choose_coarse_ranks). The others sleep. No bit depends on it.
  int coarse_ranks = 0;
  Precision storage = Precision::single_precision;  ///< the test vectors and the work inside have this
                                                    ///< storage
  /// The smoother has this storage in solves; set-up smooths in `storage`. Without one it is float in Schwarz
  /// blocks, which fit the cache, and half for minimal residual.
  std::optional<Precision> smoother_storage;
  /// P has this storage in cycles. Without one it is 16-bit fixed point where `storage` is single precision.
  std::optional<Precision> prolongator_storage;
  Precision coarse_storage = Precision::single_precision;  ///< coarse matrices have this storage in solves:
                                                           ///< half is smaller
  uint64_t seed = 1;

  bool operator==(const MultigridParams&) const = default;
};

/// It says what set-up did on a level between the finest and the coarsest.
struct MultigridLevelReport {
  std::vector<double> residual;  ///< it is the mean |D v| / |v| of its test vectors at first and after each
                                 ///< sweep
  double worst_residual = 0;     ///< a single vector has this at the end
  double condition = 0;          ///< it is the largest estimate of a diagonal matrix of the next level
  double seconds = 0;            ///< the last set-up took so long

  bool operator==(const MultigridLevelReport&) const = default;
};

/// It says how a solve converges after so many sweeps of a set-up.
struct MultigridTrial {
  int sweeps = 0;
  double iterations_per_digit = 0;  ///< in so many the residual falls by a factor of 10
  double price_of_iteration = 0;    ///< price_of() has it for one column

  bool operator==(const MultigridTrial&) const = default;
};

/// It says what set-up did.
struct MultigridSetupReport {
  std::vector<double> residual;  ///< it is the mean |M v| / |v| of the test vectors at first and after each
                                 ///< sweep
  double worst_residual = 0;     ///< a single vector has this at the end
  double condition = 0;          ///< it is the largest estimate of a diagonal matrix of the coarse operator
  double seconds = 0;            ///< it took so long in all, and its parts so long
  double seconds_of_smoothing = 0, seconds_of_sweeps = 0, seconds_of_orthonormalisation = 0,
         seconds_of_coarse_operator = 0;
  double seconds_of_trials = 0;
  double seconds_of_coarse_modes = 0;   ///< they are a part of `seconds`; those of shifts are not
  double seconds_of_coarse_levels = 0;  ///< the set-ups of all levels below the second lattice took so long
  std::vector<MultigridLevelReport> coarse_levels;  ///< they are the second lattice and on, but for the
                                                    ///< coarsest
  std::vector<std::string> notes;      ///< each is a sentence that says what was mended on the way
  std::vector<MultigridTrial> trials;  ///< a set-up that chose its sweeps has one before each decision
  double price_of_sweep = 0;           ///< they were compared with it
  Cost cost;
};

/// It says what the cycles of one level took in solves, in seconds on this rank.
struct MultigridProfile {
  struct Part {
    double seconds = 0;
    Cost cost;
  };
  int64_t cycles = 0;
  int64_t columns = 0;  ///< it is summed over cycles
  Part transfer, coarse, residual,
      smoother;  ///< they are P and P^dagger, D_c^-1 with all levels below, r - M x, and the smoother
};

struct CycleLevel;  // cycle.hpp

class Multigrid final : public Prepared, public std::enable_shared_from_this<Multigrid> {
 public:
  /// Sets up from random vectors, which are the same on any ranks, threads and lanes. Collective.
  /// Vectors that depend on each other in a block are replaced by noise, a few times.
  /// @throws BadArgument: the lattice cannot be cut into such blocks; NumericError: replacing did not help
  static std::shared_ptr<const Multigrid> make(const WilsonOperator& M, const MultigridParams& params);

  /// Returns the same test vectors for another mass or twisted mass on the same links: P stays, and D_c is
  /// shifted exactly, from the one that was built, so that bits do not depend on the masses between.
  /// @throws NumericError: a diagonal matrix of the shifted coarse operator is singular
  std::shared_ptr<const Multigrid> at(const WilsonOperator& M) const;

  Multigrid(const Multigrid&) = delete;
  Multigrid& operator=(const Multigrid&) = delete;

  std::string name() const override;
  void require_belong_to(const LinearOperator& A) const override;
  /// Returns a multigrid for links that have moved a little, by one sweep from the present vectors. @pre A is
  /// a WilsonOperator
  PreparedPtr updated(const LinearOperatorPtr& A) const override;
  size_t memory() const override { return hierarchy_.bytes(); }

  /// Returns the operator, and the next function that of each level below (the second lattice has the level
  /// 1), with all that solvers make of them.
  const OperatorCopies& fine() const { return fine_copies_; }
  const OperatorCopies& coarse_operator(int level = 1) const { return coarse_copies_[size_t(level) - 1]; }
  int levels() const { return hierarchy_.levels(); }
  /// Returns the levels as a cycle goes through them.
  std::vector<CycleLevel> cycle_levels() const;
  /// Returns the modes of the coarsest level, and null where there are none.
  const std::shared_ptr<const Eigenvectors>& coarse_modes() const { return coarse_modes_; }

  /// Makes one cycle for A, in A's storage.
  std::unique_ptr<ApproximateInverse> cycle(const LinearOperator& A, int columns) const;

  const MultigridParams& params() const { return params_; }
  /// Returns what all solves took so far, with those of shifted operators, on any level but the coarsest.
  const MultigridProfile& profile(int level = 0) const { return (*profiles_)[size_t(level)]; }
  /// Returns how many applications of the even-odd system of the coarsest level a solve of it takes, on the
  /// average of all so far, and 0 where there was none.
  double coarsest_applications() const;
  const MultigridSetupReport& report() const { return report_; }
  const MultigridHierarchy& hierarchy() const { return hierarchy_; }
  const Prolongator& prolongator() const { return *hierarchy_.prolongator; }
  /// Returns the matrices of the second lattice; where it is the coarsest they are null on ranks that wait
  /// while few ranks solve its system.
  const CoarseMatrixPtr& coarse() const { return hierarchy_.second; }
  /// Returns c with v_k = P c_k of the test vectors v_k of which P was made.
  const std::shared_ptr<const SiteField>& coefficients() const { return coefficients_; }
  /// Returns null where all ranks have a part of these matrices.
  const CoarseGatheringPtr& gathering() const { return hierarchy_.gathering; }
  const WilsonMatrixPtr& matrix() const { return matrix_; }
  /// Returns the parameters for which the coarse operator was built; at() shifts it from there.
  const WilsonParams& built_at() const { return built_at_; }

 private:
  friend class MultigridSetup;
  Multigrid(MultigridParams params, WilsonMatrixPtr matrix, MultigridHierarchy hierarchy,
            MultigridSetupReport report);
  MultigridParams params_;
  WilsonMatrixPtr matrix_;  ///< it has the storage and the site order of the prolongator
  MultigridHierarchy hierarchy_;
  MultigridSetupReport report_;
  std::shared_ptr<const SiteField> coefficients_;
  MultigridHierarchy built_;  ///< it is hierarchy_ before shifts
  WilsonParams built_at_;
  OperatorCopies fine_copies_;  ///< all cycles share these and those of all levels below, made once
  std::vector<OperatorCopies> coarse_copies_;
  std::shared_ptr<const Eigenvectors> make_coarse_modes();
  std::shared_ptr<const Eigenvectors> coarse_modes_;
  std::shared_ptr<std::vector<MultigridProfile>> profiles_;
  mutable std::shared_ptr<const Multigrid> shifted_;  ///< at() made it last
};
using MultigridPtr = std::shared_ptr<const Multigrid>;

class MultigridRemedy;  // remedies.hpp

/// It is the solver: flexible GCR in single precision, with true residuals in double. Inside another solver
/// it is one cycle.
struct MultigridSpec {
  MultigridPtr multigrid;
  double tolerance = 1e-10;
  int max_iterations = 10000;
  int restart_length = 10;
  bool records_history = false;
  bool fallback = true;
  int iterations = 0;
  std::vector<double> tightened = {};
  int batch = 0;  ///< so many right-hand sides are solved for together; 0 takes columns_per_batch()
  /// It is done to the multigrid before this solve, which goes on from one that was stuck; null does nothing.
  std::shared_ptr<const MultigridRemedy> remedy = nullptr;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

}  // namespace trellis
