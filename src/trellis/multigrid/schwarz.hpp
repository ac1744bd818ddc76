#pragma once
/// The Schwarz alternating procedure (SAP) is an approximate inverse: it cycles over the blocks of two
/// colours, each block being solved for with all others held fixed (M. Luescher, hep-lat/0310048).
#include <memory>
#include <optional>

#include "trellis/multigrid/schwarz_matrix.hpp"
#include "trellis/solver/operator_copies.hpp"
#include "trellis/solver/preconditioner.hpp"

namespace trellis {

/// It computes z = K r after so many cycles from zero, each with so many steps of minimal residual in a
/// block. As a solver of its own it stands inside others.
struct SchwarzSpec {
  Coord block{0, 0, 0, 0};  ///< its extents are even; 0 takes the legal ones that are nearest to 4
  int cycles = 3, iterations = 4;
  bool is_additive =
      false;  ///< all blocks of a cycle correct the same residual, else one colour goes after the other
  Precision storage = Precision::half_precision;
  int lanes = 0;  ///< it is the number inside a block; 0 takes the vector width of this build. No bit depends
                  ///< on it.

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

/// Returns the even blocks that are nearest to 4^4.
/// @throws BadArgument: there are none
Coord choose_schwarz_block(const Geometry& geometry);
/// GPUs say this.
inline constexpr char no_schwarz_on_gpus[] =
    "the Schwarz method works on CPUs, and this operator's fields lie on a GPU: smoother = mr takes its "
    "place "
    "there";

class SchwarzCycles final : public ApproximateInverse {
 public:
  /// Makes cycles for fields in the order of `layout` with so many right-hand sides.
  /// @pre spec.block is legal, and that of the matrix
  SchwarzCycles(SchwarzMatrixPtr matrix, const SchwarzSpec& spec, SiteLayoutPtr layout, int columns);
  ~SchwarzCycles() override;
  /// Takes fields in any storage but 16 bits.
  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override;

 private:
  class Faces;
  void run_cycles();
  void run_additive_cycles();
  BlockSolveCall call_of_cycles() const;
  void solve_blocks(const BlockSolveCall& call, int colour) const;
  Cost cost_of_cycles() const;
  void copy(SpinorField& outside, const BlockField& blocks, bool is_inwards);

  SchwarzMatrixPtr matrix_;
  SchwarzSpec spec_;
  SiteLayoutPtr layout_;
  int columns_;
  std::vector<int32_t> origins_[2];
  BlockGroups groups_[2];
  BlockField residual_, solution_, step_, other_step_;
  Memory scratch_;
  size_t scratch_bytes_ = 0;         ///< each thread has so many
  std::unique_ptr<Faces> faces_[2];  ///< the index is the colour of the blocks that send; null on one rank
  std::optional<SpinorField> converted_;
};

}  // namespace trellis
