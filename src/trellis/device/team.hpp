#pragma once
/// Teams of threads compute sites together on GPUs (device/team_launch.hpp): a
/// team has 32 sites and, for each of them, some members, which hand numbers to each other in shared memory.
/// A kernel for teams has
///
///   static constexpr int members, steps
///   struct State                                        what a thread keeps from step to step
///   size_t shared_bytes() const                         the memory that a team shares, a multiple of 16
///   template <int step> void work(State&, int site, int slot, TeamPlace) const
///
/// All members have done a step before one begins the next: a member reads what others wrote one step before.
#include <cstddef>

#include "trellis/base/annotations.hpp"
#if !defined(__CUDACC__)
#include <algorithm>
#include <vector>

#include "trellis/algebra/unroll.hpp"
#endif

namespace trellis {

inline constexpr int sites_of_team = 32;

struct TeamPlace {
  int site;      ///< the number of the site in its team
  int member;    ///< the number of this thread among those of its site
  void* shared;  ///< it is aligned to 16 bytes
};

#if !defined(__CUDACC__)
/// Lets one thread of a host do the work of a team on sites 0 to count - 1 of it; site_of(i) is the site of
/// the lattice. Members take turns in an order that changes with the step, so that one that reads too early
/// what another writes finds NaN.
template <class Kernel, class SiteOf>
void work_as_team(const Kernel& kernel, int count, int slot, const SiteOf& site_of) {
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };
  std::vector<Piece> shared(kernel.shared_bytes() / sizeof(Piece) + 1);
  std::fill_n(shared[0].bytes, shared.size() * sizeof(Piece), static_cast<unsigned char>(0xff));
  std::vector<typename Kernel::State> states(size_t(count) * Kernel::members);
  unroll<Kernel::steps>([&](auto step) {
    for (int k = 0; k < count * Kernel::members; ++k) {
      const int thread = step % 2 == 0 ? k : count * Kernel::members - 1 - k;
      const TeamPlace place{thread % count, thread / count, shared.data()};
      kernel.template work<step>(states[size_t(thread)], site_of(place.site), slot, place);
    }
  });
}
#endif

}  // namespace trellis
