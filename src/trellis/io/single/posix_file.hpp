#pragma once
/// One process reads and writes these files.
#include "trellis/io/parallel_file.hpp"

namespace trellis::io {

std::unique_ptr<InputFile> open_posix_input(const std::string& path, int64_t size,
                                            Communicator& communicator);
std::unique_ptr<OutputFile> create_posix_output(const std::string& path, Communicator& communicator);

}  // namespace trellis::io
