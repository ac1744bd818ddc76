#pragma once
/// Beside its kernel and sites (device/launch.hpp) a launch can say this of itself.
#include <cstddef>

#include "trellis/base/annotations.hpp"

namespace trellis {

class Geometry;

namespace launch {

/// A launch touches these fields on the whole lattice of this rank: CPUs choose their way of walking by them,
/// GPUs the shape of the launch.
struct WorkingSet {
  size_t bytes = 0;                    ///< all fields concerned have so many; with 0 nothing is read ahead
  const Geometry* geometry = nullptr;  ///< null: the launch does not know its lattice
};

/// The reach says which neighbours' links a kernel reads: those of the next blocks only, or also of those
/// before.
enum class Reach { forward, around };

/// A thread of a GPU takes at most so many right-hand sides: it reads links once for them, but keeps all
/// their sums in registers, and fewer threads hide how slow the memory is. With 0 the tuner chooses. CPUs
/// take all of them in any case.
struct Columns {
  int per_thread = 0;
};

/// A launch on a GPU has this shape. No bit depends on it.
struct LaunchShape {
  int columns, threads;  ///< a thread has so many right-hand sides, a block so many threads
};

/// Among these the tuner chooses, of columns in rising order; the first is the default.
inline constexpr LaunchShape launch_shapes[] = {{1, 128}, {1, 64}, {2, 128}, {3, 64}, {4, 128}, {6, 128}};

/// Returns how many of the shapes have at most so many columns.
constexpr int launch_shapes_up_to(int columns) {
  int count = 0;
  for (const LaunchShape& shape : launch_shapes) count += shape.columns <= columns;
  return count;
}

}  // namespace launch
}  // namespace trellis
