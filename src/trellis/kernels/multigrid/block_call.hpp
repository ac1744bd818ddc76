#pragma once
/// The Schwarz method has these calls: fields lie block by block (lattice/block_order.hpp).
#include <cstdint>

#include "trellis/view/raw_stencil.hpp"

namespace trellis {

/// It has the legs between blocks, as kernels see them.
struct BlockEdgeCall {
  RawStencil inner[2];                   ///< of one block, by parity; its phases are 1 in lanes that leave it
  const int32_t* neighbours = nullptr;   ///< [block][leg]: another block, or ~n for block n of a face
  const uint8_t* at_boundary = nullptr;  ///< [block][leg]
  const int32_t* number_in_edge[2][8] = {};  ///< [vector of a block]
  int edge_vectors[2][8] = {};               ///< of a block
  double boundary[8][2] = {};                ///< the phase of legs that lead around the lattice
  RawField ghosts[2][8];                     ///< by parity of the sites they come from: [face block][vector]
};

/// It is one part of a cycle: the legs that arrive from other blocks, then the solve inside.
struct BlockSolveCall {
  RawStencil inner[2];  ///< of one block, by parity; its phases are 0 in lanes that leave it
  BlockEdgeCall edge;
  RawField links[2];
  int link_reals = 12;
  bool has_clover = false;
  RawField clover;           ///< A of even sites
  RawField inverse;          ///< A^-1 of odd sites
  RawField twisted_inverse;  ///< and with a twisted mass: A^-1 = C - i mu g5 B
  double diagonal[2] = {1, 0}, inverse_diagonal[2] = {1, 0};  ///< without a clover term
  double twist = 0;                                           ///< with one
  RawField residual[2], step[2], solution[2];
  RawField arriving[2];            ///< the last steps of other blocks
  bool has_arriving = false;       ///< there are any
  bool is_odd_solved = false;      ///< the residual on odd sites is zero, whatever memory says
  bool is_first = false;           ///< the solution is this step
  const int32_t* order = nullptr;  ///< of even sites in sums: vector * lanes + lane
  int vectors = 0;                 ///< of a block and parity
  int iterations = 4, slots = 1;
  void* scratch = nullptr;  ///< of each thread
  size_t scratch_bytes = 0;
};

/// It says what the blocks at a face send along one leg of their neighbours.
struct BlockFaceCall {
  RawField links, in;  ///< of the parity of the sites that send
  int link_reals = 12;
  RawField out;  ///< [face block][vector]
  int leg = 0;   ///< of the neighbour that receives
  const int32_t* blocks = nullptr;
  const int32_t* edge = nullptr;  ///< vectors of a block that touch the face
  int edge_vectors = 0, vectors = 0;
  int slots = 1;
};

/// It copies spinors between the order of fields and that of blocks.
struct BlockCopyCall {
  RawField blocks;          ///< of one parity
  void* outside = nullptr;  ///< reals of the arithmetic, [block][slot][real][lane]
  int outside_lanes = 1;
  const int32_t* origin = nullptr;  ///< [vector][lane]: block * outside_lanes + lane
  /// These are groups of as many vectors as outside blocks, [group][lane], where a block is a lane outside;
  /// else they are null.
  const int32_t *group_vectors = nullptr, *group_places = nullptr;
  int slots = 1;
};

}  // namespace trellis
