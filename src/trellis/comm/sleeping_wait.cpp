#include "trellis/comm/sleeping_wait.hpp"

#include <time.h>

#include <algorithm>

namespace trellis {

namespace {
constexpr int looks_without_sleep = 20;
constexpr long first_nanoseconds = 2000, most_nanoseconds = 1000000;
}  // namespace

void wait_asleep(Exchange& exchange, int receives) {
  long nanoseconds = first_nanoseconds;
  for (int number = 0, looks = 0; number < receives; ++looks) {
    if (exchange.has_arrived(number)) {
      ++number;
      continue;
    }
    if (looks < looks_without_sleep) continue;
    const timespec pause{0, nanoseconds};
    nanosleep(&pause, nullptr);
    nanoseconds = std::min(nanoseconds + nanoseconds / 8, most_nanoseconds);
  }
  exchange.wait();
}

}  // namespace trellis
