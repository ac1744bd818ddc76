#pragma once
/// This file says how many threads may be asked for.

namespace trellis {

/// Returns eight for each core of the machine: with more it would do little but change between them.
int most_threads();

/// Throws BadArgument unless all numbers of OMP_NUM_THREADS are whole and between 1 and most_threads();
/// thread_count() may have the first one. OpenMP's runtime takes other numbers modulo 2^32, or passes over
/// them.
void require_sound_environment();

}  // namespace trellis
