#include "trellis/comm/transport/transport.hpp"

#include <sched.h>

#include <algorithm>
#include <numeric>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
constexpr int spins_before_yield = 500;
}

HaloTransport::HaloTransport(size_t receives) : all_(receives) {
  std::iota(all_.begin(), all_.end(), 0);
  missing_.reserve(receives);
}

void HaloTransport::wait_each(const std::function<void(int)>& unpack) {
  wait([this, &unpack] {
    for (const int number : all_) unpack(number);
  });
}

HaloFlags HaloTransport::begin_with_flags() {
  throw Error(message("halos by the way ", name_of(way()), " have no flags for a launch"));
}

void HaloTransport::unpack_as_they_arrive(const std::function<void(int)>& unpack) {
  missing_.assign(all_.begin(), all_.end());
  for (int spins = 0; !missing_.empty();) {
    const auto is_done = [&](int number) {
      if (!has_arrived(number)) return false;
      unpack(number);
      return true;
    };
    const size_t before = missing_.size();
    missing_.erase(std::remove_if(missing_.begin(), missing_.end(), is_done), missing_.end());
    if (missing_.size() == before && ++spins > spins_before_yield) sched_yield();  // ranks may share a core
  }
}

}  // namespace trellis
