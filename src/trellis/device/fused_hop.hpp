#pragma once
/// A hop packs its faces, computes and waits for other ranks in one launch, with the flags of
/// view/halo_flags.hpp: GPUs, real and simulated, share what its blocks do.
#include "trellis/view/halo_flags.hpp"

/// It marks what the threads of a block do together, on a GPU or for a simulated one.
#if defined(__CUDACC__)
#define TRELLIS_BLOCK_FN __device__ inline
#else
#define TRELLIS_BLOCK_FN inline
#endif

namespace trellis {

/// Ends the work of a block that has packed a part of a message: the last one of `blocks` raises the flag.
/// All threads of the block call it.
template <class Block>
TRELLIS_BLOCK_FN void say_packed(const Block& block, const HaloFlags& flags, int message, unsigned blocks) {
  block.synchronize();
  if (!block.is_first_thread()) return;
  block.fence_own_writes();
  unsigned& done = flags.counters[1 + message];
  if (block.count(done) + 1 < blocks) return;
  done = 0;
  block.fence_all_that_it_saw();
  block.raise(flags.there[message], flags.turn);
}

/// Waits until the ghosts of these legs are there. All threads of the block call it.
template <class Block>
TRELLIS_BLOCK_FN void wait_for_legs(const Block& block, const HaloFlags& flags, unsigned legs) {
  for (int message = block.thread(); message < flags.receives; message += block.threads())
    if ((flags.legs_of_message[message] & legs) != 0) block.wait_for(flags.here[message], flags.turn);
  block.synchronize();
}

/// A hop is one launch with the packing of its faces.
template <class PackKernel, class HopKernel>
struct FusedHop {
  using Hop = HopKernel;
  HopKernel hop;  // it comes first: it may be aligned to more than the others, and gaps hold anything
  PackKernel pack;
  HaloFlags flags;
  const int32_t *inner, *border;  ///< they list sites; null stands for 0, 1, ...
  int inner_sites, border_sites, slots;

  TRELLIS_SITE_FN int site(int i, bool is_border) const {
    const int32_t* const sites = is_border ? border : inner;
    return sites != nullptr ? sites[i] : i;
  }
  /// Computes S right-hand sides of a site, or as many as are left.
  template <int S>
  TRELLIS_SITE_FN void compute(int site, int slot) const {
    if (slot + S <= slots) return hop.template compute<S>(site, slot);
    for (; slot < slots; ++slot) hop.template compute<1>(site, slot);
  }
};

/// These are the blocks of such a launch, in the order in which they take their turns.
struct FusedBlocks {
  int packing = 0, inner = 0, border = 0;
  unsigned of_message[HaloFlags::most_messages] = {};  ///< so many pack it

  int count() const { return packing + inner + border; }
};

/// @pre faces begin with a block of so many threads
template <int S, class Fused>
FusedBlocks fused_blocks(const Fused& f, int threads) {
  const int groups = (f.slots + S - 1) / S;
  const auto chunks = [threads](int sites) { return (sites + threads - 1) / threads; };
  FusedBlocks blocks{
      chunks(f.pack.sites()) * f.slots, chunks(f.inner_sites) * groups, chunks(f.border_sites) * groups, {}};
  for (int face = 0; face < f.pack.all.count(); ++face) {
    const int end = face + 1 < f.pack.all.count() ? f.pack.all.begin(face + 1) : f.pack.sites();
    blocks.of_message[f.flags.message_of_face[face]] +=
        unsigned(chunks(end - f.pack.all.begin(face)) * f.slots);
  }
  return blocks;
}

}  // namespace trellis
