#pragma once
/// Every communicator checks the argument of Communicator::alltoallv with this.
#include <cstddef>

#include "trellis/base/error.hpp"

namespace trellis {

inline void require_bytes_for_each_rank(size_t found, int ranks, int rank) {
  if (found != size_t(ranks))
    throw BadArgument(message("alltoallv takes a number of bytes for each of ", ranks, " ranks, found ",
                              found, " of them on rank ", rank));
}

}  // namespace trellis
