#pragma once
/// MPI-IO reads and writes the files of many ranks.
#include "trellis/io/parallel_file.hpp"

namespace trellis::io {

/// @pre communicator is world().
std::unique_ptr<InputFile> open_mpi_input(const std::string& path, int64_t size, Communicator& communicator);
std::unique_ptr<OutputFile> create_mpi_output(const std::string& path, Communicator& communicator);

}  // namespace trellis::io
