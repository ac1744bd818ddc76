#include "trellis/base/precision.hpp"

#include <cstdlib>

#include "trellis/base/built_kernels.hpp"
#include "trellis/base/error.hpp"

namespace trellis {

const char* name_of(Precision p) {
  switch (p) {
    case Precision::double_precision:
      return "double";
    case Precision::single_precision:
      return "float";
    case Precision::half_precision:
      return "half";
    case Precision::fp16_precision:
      return "fp16";
  }
  throw BadArgument("precision tag out of range");
}

const char* name_of(Backend b) {
  switch (b) {
    case Backend::cpu:
      return "cpu";
    case Backend::gpu_emulated:
      return "gpu_emulated";
    case Backend::cuda:
      return "cuda";
  }
  throw BadArgument("backend tag out of range");
}

Precision precision_by_name(const std::string& name) {
  if (name == "double") return Precision::double_precision;
  if (name == "single" || name == "float") return Precision::single_precision;
  if (name == "half") return Precision::half_precision;
  if (name == "fp16") return Precision::fp16_precision;
  throw BadArgument(message("unknown precision '", name, "'; legal: double, float (or single), half, fp16"));
}

Backend backend_by_name(const std::string& name) {
  if (name == "cpu") return Backend::cpu;
  if (name == "gpu_emulated") return Backend::gpu_emulated;
  if (name == "cuda") return Backend::cuda;
  throw BadArgument(message("unknown backend '", name, "'; legal: cpu, gpu_emulated, cuda"));
}

int native_lanes(Precision p) {
#if defined(__AVX512F__)
  return p == Precision::double_precision ? 8 : 16;
#elif defined(__AVX__)
  return p == Precision::double_precision ? 4 : 8;
#else
  return p == Precision::double_precision ? 4 : 4;
#endif
}

int default_lanes(Precision p) {
  static const char* const words = std::getenv("TRELLIS_LANES");
  if (words == nullptr || *words == 0) return native_lanes(p);
  const int most = p == Precision::double_precision ? built_kernels::most_lanes_in_double
                                                    : built_kernels::most_lanes_otherwise;
  for (const int lanes : {1, 4, 8, 16}) {
    if (words != std::to_string(lanes)) continue;
    if (lanes > most)
      throw NotAvailable(message("TRELLIS_LANES is ", lanes, ", but kernels in ", name_of(p),
                                 " have at most ", most,
                                 " lanes in this build: more of them serve tests only (cmake "
                                 "-DTRELLIS_KERNELS_FOR_TESTS=ON compiles them)"));
    return lanes;
  }
  throw BadArgument(message("TRELLIS_LANES is 1, 4, 8 or 16, found ", words));
}

}  // namespace trellis
