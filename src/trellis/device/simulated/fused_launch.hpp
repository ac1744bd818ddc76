#pragma once
/// This is the launch of a hop with its halo on a simulated GPU. Its blocks run one after the other, those
/// that pack before all others and else in a random order, and what waits lets other processes run. The
/// launch runs as soon as it is made: a GPU needs nobody who waits for it, and processes may wait for its
/// flags by ways that know of no queue.
#include "trellis/device/fused_hop.hpp"
#include "trellis/device/simulated/for_each_site.hpp"
#include "trellis/device/simulated/remote_flags.hpp"

namespace trellis::cuda {

struct BlockWithFlags {
  void synchronize() const {}
  int thread() const { return 0; }
  int threads() const { return 1; }
  bool is_first_thread() const { return true; }
  void fence_own_writes() const { simulated::fence_own_writes(); }
  void fence_all_that_it_saw() const { simulated::fence_all_that_it_saw(); }
  unsigned count(unsigned& counter) const { return counter++; }
  void raise(uint64_t* flag, uint64_t turn) const { simulated::raise(flag, turn); }
  void wait_for(const uint64_t* flag, uint64_t turn) const { simulated::wait_for_flag(flag, turn); }
};

template <int S, class F>
void compute_block(const F& f, int block, bool is_border, int threads) {
  const int groups = (f.slots + S - 1) / S, first = block / groups * threads;
  const int end = std::min(first + threads, is_border ? f.border_sites : f.inner_sites);
  unsigned legs = 0;
  for (int i = first; is_border && i < end; ++i) legs |= f.hop.ghost_legs(f.site(i, is_border));
  if (is_border) wait_for_legs(BlockWithFlags{}, f.flags, legs);
  for (int i = first; i < end; ++i) f.template compute<S>(f.site(i, is_border), block % groups * S);
}

template <int S, class F>
void launch_fused(const F& f, int threads) {
  const FusedBlocks blocks = fused_blocks<S>(f, threads);
  if (blocks.count() == 0) return;
  check_launch(SiteRange(blocks.count()), f);
  simulated::run_with_flags(simulated::launch_queue(), [f, blocks, threads] {
    for (const int block : simulated::in_any_order(blocks.packing)) {
      simulated::begin_block();
      const int first = block / f.slots * threads;
      for (int i = first; i < first + threads; ++i) f.pack(i, block % f.slots);
      const int message = f.flags.message_of_face[f.pack.all.face_of(first)];
      say_packed(BlockWithFlags{}, f.flags, message, blocks.of_message[message]);
    }
    for (const int block : simulated::in_any_order(blocks.inner)) compute_block<S>(f, block, false, threads);
    for (const int block : simulated::in_any_order(blocks.border)) compute_block<S>(f, block, true, threads);
  });
}

}  // namespace trellis::cuda
