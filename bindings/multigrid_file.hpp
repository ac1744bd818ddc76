#pragma once
/// Set-ups of multigrid lie in HDF5 files: the columns of P, one array each, with checksum and norm
/// (io/site_field_hdf5.hpp). The coarse operator is built again from them.
#include <string>
#include <vector>

#include "trellis/io/hdf5.hpp"
#include "trellis/multigrid/multigrid.hpp"

namespace trellis::bindings {

/// Writes arrays "column_0000" on, [t][z][y][x][spin][colour], "coefficients_0000" on, [t][z][y][x][column]
/// of the second lattice, and of each level between the finest and the coarsest "level_1_column_0000" on,
/// [t][z][y][x][number] of its lattice: in double, or in single as they are kept. Collective.
void write_multigrid(hdf5::Group& group, const Multigrid& multigrid);

/// A file states this beside its arrays.
struct StatedMultigrid {
  MultigridParams params;
  double mass = 0, twisted_mass = 0;  ///< the coarse operator was built for these
  MultigridSetupReport report;
};

/// Returns the multigrid for M, whose links are those of the set-up. It has the bits of the written one.
/// Throws FileError where an array is missing or has other extents, ChecksumError where checksum or norm are
/// not the stored ones. Collective.
/// @param warnings gains what could not be checked
MultigridPtr read_multigrid(const hdf5::Group& group, const WilsonOperator& M, const StatedMultigrid& stated,
                            std::vector<std::string>& warnings);

}  // namespace trellis::bindings
