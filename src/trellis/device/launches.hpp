#pragma once
/// These functions say what launches on a backend can do. Code that schedules launches asks for this, and not
/// where a field lies.
#include <cstddef>

#include "trellis/base/precision.hpp"

namespace trellis {

/// Returns true if launches are loops of the host's threads: they can be cut into tiles and slices that
/// follow each other while what they share is still in a cache. A GPU takes a launch as a whole.
bool launches_can_be_cut(Backend backend);
/// Returns true if launches have a shape, of threads and of right-hand sides of a thread, that the tuner can
/// choose.
bool launches_have_shapes(Backend backend);
/// Returns true if a launch can take several right-hand sides that each have fields of their own.
bool launches_take_own_fields(Backend backend);
/// Returns true if a kernel that writes a field can add exact sums in the same launch.
bool launches_can_sum(Backend backend);
/// Returns true if lanes may have to be permuted: where a thread has a vector of sites.
bool launches_permute_lanes(Backend backend);

/// Returns the number of sites of a vector: as many as are wished, or as the build's vectors hold where that
/// is 0; 1 on a GPU.
int lanes_of_launches(Backend backend, Precision precision, int wish);
/// Says how many sites have their components side by side: those of a vector, or of a warp.
int sites_of_group(Backend backend, int lanes);

/// Returns the bytes of data of one launch after another that reads it again: a core's share of the caches,
/// or what it takes to fill a GPU.
size_t launch_chunk_bytes(Backend backend);

}  // namespace trellis
