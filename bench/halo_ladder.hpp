#pragma once
/// The halo of a Wilson hop is timed by each way in which it can travel, step by step. trellis bench halo and
/// the check on GPUs share this.
#include <functional>
#include <string>
#include <vector>

#include "trellis/base/precision.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/lattice/coord.hpp"

namespace trellis::bench {

/// It is a hop of a rank's sites. In a direction whose extent of the partition is above 1, faces go to other
/// ranks, or with `is_self` to this process, which then plays one of them (comm/played_rank.hpp).
struct HaloCase {
  Backend backend{};
  Coord local{}, partition{};
  bool is_self = false;
  Precision precision = Precision::single_precision;
  int link_reals = 12, rhs = 1;
};

/// One timing lasts so long, and the median of the rounds counts. A simulated GPU makes one call.
struct HaloTiming {
  double seconds = 0.02;
  int rounds = 5;
};

/// They are seconds of the slowest rank. The steps were timed one by one, and the host waited for each on a
/// GPU; in a hop some of them go on at once. A hop by the way `fused` is one launch: all its time counts as
/// that of inner sites.
struct HaloTimes {
  std::string way;
  double hop = 0;    ///< the whole hop takes it
  double uncut = 0;  ///< the same sites take it where nobody cuts them
  double packing = 0, halo = 0, unpacking = 0;
  double interior = 0, border = 0;
  int messages = 0;
  double bytes = 0;                ///< a rank sends them in one hop
  bool is_beside_packing = false;  ///< inner sites are computed while faces are packed: on a GPU

  /// Returns how long the border waits for the halo after the inner sites, by the times of the steps.
  double waiting() const;
  std::string missing;  ///< it says why this machine does not have the way; there are no times then
};

/// Returns the policies that a backend has: the ladder, the slowest step first. Where the policy is not
/// `automatic` it is that one alone.
std::vector<ExchangePolicy> ladder_of(Backend backend);
/// Times a hop by each of them. Collective.
std::vector<HaloTimes> climb(const HaloCase& halo, const HaloTiming& timing);

/// It is one message by one way: to this process with `is_self`, else around the ring of ranks.
struct LinkTime {
  std::string way;
  size_t bytes;
  double seconds;
};
/// Times messages of these lengths by each way that there is. Collective.
std::vector<LinkTime> time_links(Backend backend, bool is_self, const std::vector<size_t>& bytes,
                                 const HaloTiming& timing);

/// Returns two lines for each way: what faces and what sites do meanwhile, with the waiting between.
std::string picture(const std::vector<HaloTimes>& ways);

}  // namespace trellis::bench
