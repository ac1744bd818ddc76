#pragma once
/// This is the launch of a hop with its halo on a GPU.
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/device/fused_hop.hpp"

namespace trellis::cuda {

/// The threads of a block do so (view/halo_flags.hpp). A fence by one thread, behind a barrier, covers the
/// writes of all of its block, and those that others had fenced before it saw their counts.
struct BlockWithFlags {
  __device__ void synchronize() const { __syncthreads(); }
  __device__ int thread() const { return int(threadIdx.x); }
  __device__ int threads() const { return int(blockDim.x); }
  __device__ bool is_first_thread() const { return threadIdx.x == 0; }
  __device__ void fence_own_writes() const { __threadfence_system(); }
  __device__ void fence_all_that_it_saw() const { __threadfence_system(); }
  __device__ unsigned count(unsigned& counter) const { return atomicAdd(&counter, 1u); }
  __device__ void raise(uint64_t* flag, uint64_t turn) const {
    release_to_all(reinterpret_cast<Bits*>(flag), turn);
  }
  __device__ void wait_for(const uint64_t* flag, uint64_t turn) const {
    while (acquire_from_all(reinterpret_cast<const Bits*>(flag)) < turn) continue;
  }
};

/// Blocks take their work in the order in which they begin, whatever their index: those that wait have begun
/// behind all that pack.
template <int S, class F>
__global__ void __launch_bounds__(threads_per_block)
    fused_kernel(const __grid_constant__ F f, const __grid_constant__ FusedBlocks blocks) {
  __shared__ int turn_of_block;
  __shared__ unsigned legs_of_block;
  if (threadIdx.x == 0) {
    turn_of_block = int(atomicAdd(f.flags.counters, 1u));
    legs_of_block = 0;
    if (turn_of_block == int(gridDim.x) - 1) *f.flags.counters = 0;
  }
  __syncthreads();
  int block = turn_of_block;
  const int threads = int(blockDim.x), own = int(threadIdx.x);
  if (block < blocks.packing) {
    const int first = block / f.slots * threads, slot = block % f.slots;
    f.pack(first + own, slot);
    const int message = f.flags.message_of_face[f.pack.all.face_of(first)];
    return say_packed(BlockWithFlags{}, f.flags, message, blocks.of_message[message]);
  }
  block -= blocks.packing;
  const bool is_border = block >= blocks.inner;
  if (is_border) block -= blocks.inner;
  const int groups = (f.slots + S - 1) / S;
  const int i = block / groups * threads + own;
  const bool has_site = i < (is_border ? f.border_sites : f.inner_sites);
  const int site = has_site ? f.site(i, is_border) : 0;
  if (is_border) {
    if (has_site) atomicOr(&legs_of_block, f.hop.ghost_legs(site));
    __syncthreads();
    wait_for_legs(BlockWithFlags{}, f.flags, legs_of_block);
  }
  if (has_site) f.template compute<S>(site, block % groups * S);
}

template <int S, class F>
void launch_fused(const F& f, int threads) {
  const FusedBlocks blocks = fused_blocks<S>(f, threads);
  if (blocks.count() == 0) return;
  fused_kernel<S><<<unsigned(blocks.count()), threads, 0, launch_stream()>>>(f, blocks);
  require_launched(typeid(F));
}

}  // namespace trellis::cuda
