#define OMPI_SKIP_MPICXX 1  // the C++ bindings of MPI-2 are not wanted
#include <mpi.h>

#include "trellis/base/error.hpp"
#include "trellis/io/hdf5_handle.hpp"

namespace trellis::hdf5 {

void use_mpi_io(hid_t access_properties, const Communicator& communicator) {
#ifdef H5_HAVE_PARALLEL
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  TRELLIS_REQUIRE(size == communicator.size(), "parallel HDF5 works over all ", size, " ranks, not over ",
                  communicator.size());
  if (H5Pset_fapl_mpio(access_properties, MPI_COMM_WORLD, MPI_INFO_NULL) < 0)
    throw Error("H5Pset_fapl_mpio failed");
#else
  (void)access_properties;
  throw NotAvailable(
      message("the HDF5 of this build is serial; ", communicator.size(), " ranks cannot share a file"));
#endif
}

}  // namespace trellis::hdf5
