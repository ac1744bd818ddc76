#pragma once
/// The Schwarz method has these calls: fields lie block by block (lattice/block_order.hpp).
#include <cstdint>

#include "trellis/view/raw_stencil.hpp"

namespace trellis {

/// It has the legs between blocks, as kernels see them.
struct BlockEdgeCall {
  RawStencil inner[2];  ///< each parity of one block has one; its phases are 1 in lanes that leave it
  const int32_t* neighbours = nullptr;  ///< they are [block][leg]: another block, or ~n for block n of a face
  const uint8_t* at_boundary = nullptr;      ///< [block][leg]
  const int32_t* number_in_edge[2][8] = {};  ///< it is [vector of a block]
  int edge_vectors[2][8] = {};               ///< a block has so many
  double boundary[8][2] = {};                ///< it is the phase of legs that lead around the lattice
  RawField ghosts[2][8];  ///< they go by parity of the sites they come from: [face block][vector]
};

/// It is one part of a cycle: the legs that arrive from other blocks, then the solve inside.
struct BlockSolveCall {
  RawStencil inner[2];  ///< each parity of one block has one; its phases are 0 in lanes that leave it
  BlockEdgeCall edge;
  RawField links[2];
  int link_reals = 12;
  bool has_clover = false;
  RawField clover;           ///< it is A of even sites
  RawField inverse;          ///< it is A^-1 of odd sites
  RawField twisted_inverse;  ///< a twisted mass needs it too: A^-1 = C - i mu g5 B
  double diagonal[2] = {1, 0}, inverse_diagonal[2] = {1, 0};  ///< they count without a clover term
  double twist = 0;                                           ///< it counts with one
  RawField residual[2], step[2], solution[2];
  RawField arriving[2];            ///< they are the last steps of other blocks
  bool has_arriving = false;       ///< there are any
  bool is_odd_solved = false;      ///< the residual on odd sites is zero, whatever memory says
  bool is_first = false;           ///< the solution is this step
  const int32_t* order = nullptr;  ///< it orders even sites in sums: vector * lanes + lane
  int vectors = 0;                 ///< a block and parity has so many
  int iterations = 4, slots = 1;
  void* scratch = nullptr;  ///< each thread has its own
  size_t scratch_bytes = 0;
};

/// It says what the blocks at a face send along one leg of their neighbours.
struct BlockFaceCall {
  RawField links, in;  ///< they have the parity of the sites that send
  int link_reals = 12;
  RawField out;  ///< [face block][vector]
  int leg = 0;   ///< it is that of the neighbour that receives
  const int32_t* blocks = nullptr;
  const int32_t* edge = nullptr;  ///< these vectors of a block touch the face
  int edge_vectors = 0, vectors = 0;
  int slots = 1;
};

/// It copies spinors between the order of fields and that of blocks.
struct BlockCopyCall {
  RawField blocks;          ///< they have one parity
  void* outside = nullptr;  ///< they are reals of the arithmetic, [block][slot][real][lane]
  int outside_lanes = 1;
  const int32_t* origin = nullptr;  ///< it is [vector][lane]: block * outside_lanes + lane
  /// These are groups of as many vectors as outside blocks, [group][lane], where a block is a lane outside;
  /// else they are null.
  const int32_t *group_vectors = nullptr, *group_places = nullptr;
  int slots = 1;
};

}  // namespace trellis
