#pragma once
/// Low modes of fermion operators lie in HDF5 files: there is one array for each vector, with checksum and
/// norm (io/site_field_hdf5.hpp).
#include <string>
#include <vector>

#include "trellis/io/hdf5.hpp"
#include "trellis/solver/eigen/eigenvectors.hpp"

namespace trellis::bindings {

/// Writes arrays "values", "relative_residual" and "vector_0000" on. A vector on all sites is
/// [t][z][y][x][slice][spin][colour]; one on one parity has half of these numbers at each site: the two
/// sites 2 k and 2 k + 1 of a row hold the numbers of that one of them which has the parity. Collective.
/// @pre precision_bits is 32 or 64; 32 rounds vectors in double
void write_eigenvectors(hdf5::Group& group, const Eigenvectors& modes, int precision_bits);

/// Reads vectors of A, A a domain with their lattice, parity and slices, into `storage`. What write() does
/// not write (upper, converged, costs) is left as it is in a new Eigenvectors. Throws FileError where an
/// array is missing or has other extents, values are not positive and ascending, ChecksumError where checksum
/// or norm are not the stored ones. Collective.
/// @param warnings gains what could not be checked
Eigenvectors read_eigenvectors(const hdf5::Group& group, const LinearOperator& A, Precision storage,
                               std::vector<std::string>& warnings);

}  // namespace trellis::bindings
