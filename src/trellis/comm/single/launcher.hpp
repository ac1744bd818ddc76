#pragma once
/// What a launcher of ranks (mpirun, srun) has told this process, for builds that cannot be ranks.

namespace trellis {

/// Number of processes that were started together with this one, by the launcher's environment variables; 1
/// where none speaks of more.
int launched_processes();

/// Throws NotAvailable where there are several: each would do all of the work, and write the same files.
void require_single_process();

}  // namespace trellis
