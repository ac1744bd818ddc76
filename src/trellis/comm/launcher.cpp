#include "trellis/comm/launcher.hpp"

#include <climits>
#include <cstdlib>

#include "trellis/base/environment.hpp"
#include "trellis/base/error.hpp"

namespace trellis {

const std::vector<std::pair<std::string, std::string>>& launcher_variables() {
  static const std::vector<std::pair<std::string, std::string>> variables = {
      {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
      {"PMIX_SIZE", "PMIX_RANK"},
      {"PMI_SIZE", "PMI_RANK"},
      {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};  // SLURM_NTASKS is of the allocation, too
  return variables;
}

namespace {
bool are_singletons() { return environment_number("TRELLIS_SINGLETONS", 0, 1).value_or(0) == 1; }
}  // namespace

int launched_processes() {
  if (are_singletons()) return 1;
  for (const auto& [size, number] : launcher_variables()) {
    if (std::getenv(number.c_str()) == nullptr) continue;  // both are needed, as a shell may have one of them
    if (const auto processes = environment_number(size.c_str(), 1, INT_MAX)) return *processes;
  }
  return 1;
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

void require_all_processes(int ranks) {
  if (ranks > 1 && are_singletons())
    throw BadArgument(message("TRELLIS_SINGLETONS=1: expected processes that work each for itself, found ",
                              ranks, " ranks of MPI; unset it, or start one rank each"));
  const int processes = launched_processes();
  if (ranks > 1 || processes == 1) return;
  throw NotAvailable(
      message(processes,
              " processes were started together, but MPI sees 1 in each and each would do all of the work: "
              "start them with the mpirun of the MPI that trellis is built with (trellis doctor, by itself, "
              "names it), or srun --mpi=pmix, or set TRELLIS_SINGLETONS=1 if each is to work for itself"));
}

}  // namespace trellis
