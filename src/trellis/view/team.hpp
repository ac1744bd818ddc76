#pragma once
/// Teams of threads compute sites together on GPUs (device/team_launch.hpp): a team has 32 sites and, for
/// each of them, some members, which hand numbers to each other in shared memory. A kernel for teams has
///
///   static constexpr int members, steps
///   struct State                                        what a thread keeps from step to step
///   size_t shared_bytes() const                         the memory that a team shares, a multiple of 16
///   template <int step> void work(State&, int site, int slot, TeamPlace) const
///
/// All members have done a step before one begins the next: a member reads what others wrote one step before.

namespace trellis {

inline constexpr int sites_of_team = 32;

struct TeamPlace {
  int site;      ///< the number of the site in its team
  int member;    ///< the number of this thread among those of its site
  void* shared;  ///< it is aligned to 16 bytes
};

}  // namespace trellis
