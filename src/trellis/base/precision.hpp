#pragma once
/// How numbers are stored and where: run-time tags that select a kernel's instantiation.
#include <string>

namespace trellis {

/// Storage of a field. `half_precision` is 16-bit fixed point with one float scale per site, computed in
/// float.
enum class Precision { double_precision, single_precision, half_precision };

/// cpu: OpenMP + Lanes. gpu_emulated: the GPU layout and views with one lane, run on the host. cuda: a GPU.
enum class Backend { cpu, gpu_emulated, cuda };

const char* name_of(Precision p);
const char* name_of(Backend b);
/// "double", "single" or "float", "half"; throws BadArgument with the legal names otherwise.
Precision precision_by_name(const std::string& name);
/// "cpu", "gpu_emulated", "cuda".
Backend backend_by_name(const std::string& name);

/// Lane count that fills this build's vector registers (float and half share the float count).
int native_lanes(Precision p);
/// Lanes of fields for which none are asked for: native_lanes(), or what the environment variable
/// TRELLIS_LANES says (1, 4, 8, 16). Results have the same bits with any. Throws BadArgument for others.
int default_lanes(Precision p);

}  // namespace trellis
