#include "trellis/comm/single/launcher.hpp"

#include <algorithm>
#include <cstdlib>

#include "trellis/base/error.hpp"

namespace trellis {

int launched_processes() {
  // Of each launcher the number of processes and that of this one; both, as a shell may have one of them.
  // python/trellis/parallel.py has the same.
  constexpr const char* variables[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                          {"PMI_SIZE", "PMI_RANK"},
                                          {"PMIX_SIZE", "PMIX_RANK"},
                                          {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  int processes = 1;
  for (const auto& [size, number] : variables) {
    const char* const text = std::getenv(size);
    if (text != nullptr && std::getenv(number) != nullptr) processes = std::max(processes, std::atoi(text));
  }
  return processes;
}

void require_single_process() {
  const int processes = launched_processes();
  if (processes > 1)
    throw NotAvailable(
        message(processes,
                " processes were started together, but this build has no MPI and each would do all of the "
                "work: start one (OMP_NUM_THREADS sets its threads), or build with MPI "
                "(./bootstrap build)"));
}

}  // namespace trellis
