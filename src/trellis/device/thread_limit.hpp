#pragma once
/// How many threads may be asked for.

namespace trellis {

/// Eight for each core of the machine: with more it would do little but change between them.
int most_threads();

/// The first number of OMP_NUM_THREADS is one that thread_count() may have.
/// BadArgument: a number of it is not whole, or none between 1 and most_threads(). OpenMP's runtime takes
/// such numbers modulo 2^32, or passes over them.
void require_sound_environment();

}  // namespace trellis
