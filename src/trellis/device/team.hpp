#pragma once
/// Where there is no GPU, one thread does the work of a team (view/team.hpp).
#include <algorithm>
#include <cstddef>
#include <vector>

#include "trellis/algebra/unroll.hpp"
#include "trellis/view/team.hpp"

namespace trellis {

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

}  // namespace trellis
