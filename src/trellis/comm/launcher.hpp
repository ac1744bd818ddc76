#pragma once
/// These functions read what a launcher of ranks (mpirun, srun) has told this process by environment
/// variables.
#include <string>
#include <utility>
#include <vector>

namespace trellis {

/// Returns the variables of each launcher, for the number of processes and that of this one, the innermost
/// launcher first: mpirun inside a job step leaves those of the step. python/trellis/ground/launched_ranks.py
/// has the same list, as it must not load the compiled part; tests compare the two.
const std::vector<std::pair<std::string, std::string>>& launcher_variables();

/// Returns the number of processes that were started together with this one, as the innermost launcher says;
/// it is 1 without one, and where TRELLIS_SINGLETONS=1 says that they are to work each for itself.
/// Throws BadArgument where a launcher's number of processes is no whole number, or TRELLIS_SINGLETONS is not
/// 0 or 1.
int launched_processes();

/// Throws NotAvailable where there are several of them and this build has no MPI: each would do all of the
/// work, and write the same files.
void require_single_process();

/// Throws NotAvailable where there are several of them, and MPI knows of one process alone: another MPI's
/// launcher started them, or srun without this one's interface.
/// Throws BadArgument where MPI has several ranks, and TRELLIS_SINGLETONS=1.
void require_all_processes(int ranks);

}  // namespace trellis
