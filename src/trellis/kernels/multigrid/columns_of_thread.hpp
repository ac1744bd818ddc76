#pragma once
/// This says how many right-hand sides a thread takes in products with the matrices of multigrid.

namespace trellis {

/// There are so many where there are several: registers hold the sums of so many.
template <class Storage>
inline constexpr int columns_of_thread = sizeof(Storage) > 4 ? 2 : 4;

}  // namespace trellis
