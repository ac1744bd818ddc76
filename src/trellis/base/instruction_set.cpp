#include "trellis/base/instruction_set.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// X(name, compiled in, present): __builtin_cpu_supports takes literals only.
template <class F>
void for_each_feature([[maybe_unused]] const F& f) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#define TRELLIS_FEATURE(name) f(name, __builtin_cpu_supports(name) != 0)
#if defined(__AVX2__)
  TRELLIS_FEATURE("avx2");
#endif
#if defined(__FMA__)
  TRELLIS_FEATURE("fma");
#endif
#if defined(__BMI2__)
  TRELLIS_FEATURE("bmi2");
#endif
#if defined(__AVX512F__)
  TRELLIS_FEATURE("avx512f");
#endif
#if defined(__AVX512DQ__)
  TRELLIS_FEATURE("avx512dq");
#endif
#if defined(__AVX512BW__)
  TRELLIS_FEATURE("avx512bw");
#endif
#if defined(__AVX512VL__)
  TRELLIS_FEATURE("avx512vl");
#endif
#undef TRELLIS_FEATURE
#endif
}
}  // namespace

std::string instruction_set() {
#if defined(__x86_64__)
  std::string text = "x86-64";
#elif defined(__aarch64__)
  std::string text = "aarch64";
#else
  std::string text = "unknown architecture";
#endif
  for_each_feature([&](const char* name, bool) { text += std::string(" ") + name; });
  return text;
}

std::string missing_instructions() {
  std::string missing;
  for_each_feature([&](const char* name, bool is_present) {
    if (!is_present) missing += (missing.empty() ? "" : " ") + std::string(name);
  });
  return missing;
}

void require_instruction_set() {
  const std::string missing = missing_instructions();
  if (!missing.empty())
    throw NotAvailable(message("this binary was built for ", instruction_set(), "; this processor lacks ", missing,
                               ": rebuild here, or configure with -DTRELLIS_ARCH set to this processor's level"));
}

}  // namespace trellis
