#pragma once
/// This is the Schwarz alternating procedure (SAP) on blocks of two colours (doc/operators/multigrid.md). One
/// cycle does for the red blocks, then for the black ones,
///
///   x_B <- x_B + M_B (b - D x)_B,   M_B ~ (D_BB)^-1,
///
/// where D_BB is D without the legs that leave the block. With one block, which is the lattice, a cycle is a
/// solve on the whole lattice.
#include <array>
#include <optional>

#include "reference/multigrid/blocks.hpp"
#include "reference/multigrid/level_operator.hpp"

namespace trellis::reference {

/// It solves for M_B r from x = 0.
enum class BlockSolver {
  exact,       ///< it is the inverse, by LU
  mr_full,     ///< it is minimal residual: q = D_BB r, alpha = <q, r>/<q, q>, x += alpha r, r -= alpha q
  mr_even_odd  ///< the same with S = A_ee - D_eo A_oo^-1 D_oe in the block, from r_e - D_eo A_oo^-1 r_o;
               ///< then x_o = A_oo^-1 (r_o - D_oe x_e). Even is the parity of the lattice's coordinates.
};

class Schwarz {
 public:
  /// @pre the blocks of each direction are one or an even number; with mr_even_odd all extents are even
  Schwarz(LevelOperatorPtr D, const Coord& block, BlockSolver solver, int steps = 4);

  const Blocks& blocks() const { return blocks_; }

  /// Returns D_BB v of all blocks B.
  LevelVector block_diagonal(const LevelVector& v) const;
  /// Returns the sum of M_B r_B over the blocks of a colour, or over all of them.
  LevelVector correction(const LevelVector& r, std::optional<int> colour = {}) const;
  /// Does one cycle; the residual is computed anew between the colours.
  void cycle(LevelVector& x, const LevelVector& b) const;
  /// Does one step of the additive form (block Jacobi): all blocks correct the same residual.
  void additive_cycle(LevelVector& x, const LevelVector& b) const;
  /// Returns x after some cycles from 0.
  LevelVector from_zero(const LevelVector& b, int cycles) const;

 private:
  struct Workspace;
  using Sites = std::vector<int64_t>;

  void solve_exactly(LevelVector& x, const LevelVector& r, int64_t block) const;
  void minimise_full(LevelVector& x, int64_t block, Workspace& work) const;
  void minimise_even_odd(LevelVector& x, int64_t block, Workspace& work) const;
  void clear(LevelVector& v, const Sites& sites) const;
  void set_self(LevelVector& out, const LevelVector& v, const Sites& sites) const;  // it computes out = A v
  // it computes out = A^-1 v
  void set_self_inverse(LevelVector& out, const LevelVector& v, const Sites& sites) const;
  /// Computes out += factor times the legs of D_BB v that arrive at the sites.
  void add_inner_legs(LevelVector& out, double factor, const LevelVector& v, const Sites& sites) const;
  /// Computes x += alpha r, r -= alpha q on the given sites. Does nothing where q is zero: then r is, too.
  void minimal_residual_step(LevelVector& x, LevelVector& r, const LevelVector& q, const Sites& sites) const;

  LevelOperatorPtr D_;
  Blocks blocks_;
  BlockSolver solver_;
  int steps_;
  std::vector<std::array<Sites, 2>> by_parity_;  // each block has its sites
  std::vector<LU> block_factors_;                // `exact` has D_BB of each block
  std::vector<Matrix> self_inverse_;  // mr_even_odd has A(x)^-1 of odd sites, and nothing on even ones
};

}  // namespace trellis::reference
