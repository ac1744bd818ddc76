#pragma once
/// The tuner chooses here where all ranks have to take the same way, as in how a halo travels. The ranks talk
/// by callbacks, for device/ knows no communicator.
#include <cstddef>
#include <functional>
#include <vector>

#include "trellis/device/tuner.hpp"

namespace trellis {

/// Ranks agree by these functions. All ranks make the same calls in the same order.
struct RankAgreement {
  bool decides;  ///< it is true on one rank: its tuner has the mode and the cache
  std::function<void(void*, size_t)> broadcast;  ///< it sends bytes from that rank
  std::function<double(double)> maximum;         ///< it takes the largest over ranks
};

/// An attempt makes what it takes to go one way, and returns what does the work once.
using Attempt = std::function<std::function<void()>(int way)>;

/// Returns one of the deciding rank's `ways`, the same on all ranks; the first is the default. The mode of
/// that rank says how it is found. With `off` it is the default. With `read` it is the choice of the cache
/// where that is among the ways, else the default; nothing is tried. With `on` it is found likewise, but what
/// the cache does not have is tried, and the way whose slowest rank is fastest is taken and recorded by the
/// deciding rank. A choice of the cache that takes 10 % longer than its record, which is looked at once in a
/// process, is tried again.
///
/// Collective over the ranks that agree. @pre all ways give the same bits; at least one way
int choose_together(const TuneKey& key, std::vector<int> ways, const RankAgreement& ranks,
                    const Attempt& attempt);

}  // namespace trellis
