#pragma once
/// The instruction set that this binary was compiled for, and whether the processor has it.
#include <string>

namespace trellis {

/// "x86-64 with avx512f avx512dq ... fma" or the architecture's name.
std::string instruction_set();

/// What this binary needs and this processor lacks, separated by blanks; empty when all is there.
std::string missing_instructions();

/// Throws NotAvailable that names what is missing and how to rebuild. Programs and the Python module call it first,
/// before any code that the missing instructions could be in.
void require_instruction_set();

}  // namespace trellis
