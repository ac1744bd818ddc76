/// Tests read HDF5 files by the C library in serial.
#define OMPI_SKIP_MPICXX 1  // a parallel hdf5.h includes mpi.h
#include <hdf5.h>

#include "tests/support/external_data.hpp"
#include "trellis/base/error.hpp"

namespace trellis::test {

std::vector<double> read_hdf5(const std::string& path, const std::string& dataset) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) throw FileError(message("cannot open ", path));
  const hid_t data = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
  if (data < 0) {
    H5Fclose(file);
    throw FileError(message(path, ": no data set ", dataset));
  }
  const hid_t space = H5Dget_space(data), stored = H5Dget_type(data);
  const hid_t type = H5Tget_native_type(stored, H5T_DIR_ASCEND);
  std::vector<double> values(size_t(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type) /
                             sizeof(double));
  const herr_t status = H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Tclose(type);
  H5Tclose(stored);
  H5Sclose(space);
  H5Dclose(data);
  H5Fclose(file);
  if (status < 0) throw FileError(message(path, ": cannot read ", dataset));
  return values;
}

std::vector<std::complex<double>> read_hdf5_complex(const std::string& path, const std::string& dataset) {
  const std::vector<double> reals = read_hdf5(path, dataset);
  std::vector<std::complex<double>> values;
  for (size_t i = 0; i + 1 < reals.size(); i += 2) values.emplace_back(reals[i], reals[i + 1]);
  return values;
}

}  // namespace trellis::test
