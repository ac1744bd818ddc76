/// Open MPI and its kin tell whether they take the addresses of a GPU's memory.
#define OMPI_SKIP_MPICXX 1  // C interface only
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "trellis/comm/communicator.hpp"

namespace trellis {

bool library_takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace trellis
