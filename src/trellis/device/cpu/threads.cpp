#include "trellis/device/threads.hpp"

#include <omp.h>

#include <exception>

#include "trellis/base/error.hpp"

namespace trellis {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int threads) {
  TRELLIS_REQUIRE(threads >= 1, "thread count ", threads, " must be at least 1");
  omp_set_num_threads(threads);
}

void for_each_index(int n, const std::function<void(int)>& f) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(static) if (n > 1)
  for (int i = 0; i < n; ++i) {
    try {
      f(i);
    } catch (...) {
#pragma omp critical(trellis_for_each_index)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace trellis
