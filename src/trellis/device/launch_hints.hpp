#pragma once
/// What a launch can say of itself beside its kernel and sites (device/launch.hpp).
#include <cstddef>

#include "trellis/base/annotations.hpp"

namespace trellis {

class Geometry;

namespace launch {

/// The fields that a launch touches on the whole lattice of this rank: CPUs choose their way of walking by
/// them, GPUs the shape of the launch.
struct WorkingSet {
  size_t bytes = 0;                    ///< of all fields concerned; 0: nothing is read ahead
  const Geometry* geometry = nullptr;  ///< null: the launch does not know its lattice
};

/// Which neighbours' links a kernel reads: those of the next blocks only, or also of those before.
enum class Reach { forward, around };

/// How many right-hand sides a thread of a GPU takes, one after the other: links stay in its registers or
/// caches meanwhile, but fewer threads hide how slow the memory is. 0: the tuner chooses. CPUs take all of
/// them in any case.
struct Columns {
  int per_thread = 0;
};

/// The shape of a launch on a GPU. No bit depends on it.
struct LaunchShape {
  int columns, threads;  ///< right-hand sides of a thread, threads of a block
};

/// Among these the tuner chooses; the first is the default, and those from 2 on need more than one column.
inline constexpr LaunchShape launch_shapes[] = {{1, 128}, {1, 64}, {2, 128}, {4, 128}};
inline constexpr int launch_shapes_of_one_column = 2;

/// The slots 0..slots-1 in groups of `columns`, the last of which may be smaller.
struct ColumnGroups {
  int slots, columns;

  int count() const { return (slots + columns - 1) / columns; }
  TRELLIS_SITE_FN int begin(int group) const { return group * columns; }
  TRELLIS_SITE_FN int end(int group) const {
    const int next = begin(group) + columns;
    return next < slots ? next : slots;
  }
};

}  // namespace launch
}  // namespace trellis
