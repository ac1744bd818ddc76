#pragma once
/// Fields of complex numbers, such as propagators, are HDF5 arrays [t][z][y][x][inner...] in double or single
/// precision. The array has attributes: "scidac_checksum" (two numbers, of the bytes of a site as stored,
/// little-endian; checksums.hpp) and "norm2", the sum of |z|^2 of the stored numbers.
#include <complex>
#include <string>
#include <vector>

#include "trellis/field/lattice.hpp"
#include "trellis/io/hdf5.hpp"

namespace trellis {

/// Writes a field; local is [site, x fastest][inner...]. @pre precision_bits is 32 or 64; 32: no number is
/// beyond float's range
void write_site_field_hdf5(hdf5::Group& group, const std::string& name, const Lattice& lattice,
                           const std::complex<double>* local, const hdf5::Dims& inner,
                           int precision_bits = 64);

/// Reads it back in double; returns warnings (an array without checksum or norm). Throws FileError where the
/// array is missing or has other extents, ChecksumError where checksum or norm are not the stored ones.
/// Collective.
std::vector<std::string> read_site_field_hdf5(const hdf5::Group& group, const std::string& name,
                                              const Lattice& lattice, std::complex<double>* local,
                                              const hdf5::Dims& inner);

}  // namespace trellis
