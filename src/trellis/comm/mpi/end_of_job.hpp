#pragma once
/// This file has what end_rank() needs, and makes exit() call it at the end of a process.
#define OMPI_SKIP_MPICXX 1  // the C++ bindings of MPI-2 are not wanted
#include <mpi.h>

namespace trellis {

/// Makes exit() end this rank, and MPI with it if `ends_mpi`. Collective over the communicator, once.
/// Throws BadArgument where TRELLIS_END_SECONDS is no number of seconds.
void prepare_end_of_job(MPI_Comm comm, bool ends_mpi);

}  // namespace trellis
