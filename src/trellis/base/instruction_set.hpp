#pragma once
/// These functions say what this library was compiled for, and whether the processor at hand has it.
#include <string>
#include <vector>

namespace trellis {

/// Returns the vector instruction sets that the compiler was allowed to use, e.g. {"avx512f", "avx512bw",
/// "avx2", "fma"}.
std::vector<std::string> compiled_instruction_sets();

/// Returns those of them that this processor lacks. A program that finds any must say so and stop: the next
/// kernel would end it with an illegal instruction.
std::vector<std::string> missing_instruction_sets();

}  // namespace trellis
