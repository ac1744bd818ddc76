#pragma once
/// These run-time tags say how numbers are stored and where; they select a kernel's instantiation.
#include <cstddef>
#include <string>

namespace trellis {

/// This is the storage of a field. Both forms of 16 bits are computed in float: `half_precision` is fixed
/// point with one float scale per site, `fp16_precision` is IEEE 754 binary16, faster, ten times less
/// accurate, and for numbers between 6e-5 and 65504.
enum class Precision { double_precision, single_precision, half_precision, fp16_precision };

/// A backend says where fields lie and kernels run. cpu is OpenMP with Lanes; gpu_emulated has the GPU layout
/// and views with one lane and runs on the host; cuda is a GPU.
enum class Backend { cpu, gpu_emulated, cuda };

inline constexpr Precision all_precisions[] = {Precision::double_precision, Precision::single_precision,
                                               Precision::half_precision, Precision::fp16_precision};

/// Says whether reals are stored in 16 bits.
constexpr bool is_16_bit(Precision p) {
  return p == Precision::half_precision || p == Precision::fp16_precision;
}
/// A stored real, and the scale of a site, take so many bytes.
constexpr size_t element_bytes(Precision p) {
  return p == Precision::double_precision ? 8 : p == Precision::single_precision ? 4 : 2;
}
constexpr size_t scale_bytes(Precision p) { return p == Precision::half_precision ? 4 : 0; }

const char* name_of(Precision p);
const char* name_of(Backend b);
/// Takes "double", "single" or "float", "half" and "fp16"; throws BadArgument with the legal names for
/// others.
Precision precision_by_name(const std::string& name);
/// Takes "cpu", "gpu_emulated" and "cuda".
Backend backend_by_name(const std::string& name);

/// Returns the lane count that fills this build's vector registers (what is computed in float shares its
/// count).
int native_lanes(Precision p);
/// Returns the lanes of fields for which none are asked for: native_lanes(), or what the environment variable
/// TRELLIS_LANES says (1, 4, 8, 16). Results have the same bits with any. Throws BadArgument for others, and
/// NotAvailable for more than native_lanes() where the build has no kernels for tests.
int default_lanes(Precision p);

}  // namespace trellis
