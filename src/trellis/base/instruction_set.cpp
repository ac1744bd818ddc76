#include "trellis/base/instruction_set.hpp"

namespace trellis {

namespace {
struct InstructionSet {
  const char* name;
  bool is_present;
};

// __builtin_cpu_supports takes literals only.
#define TRELLIS_INSTRUCTION_SET(name) \
  InstructionSet { name, __builtin_cpu_supports(name) != 0 }

std::vector<InstructionSet> required_sets() {
  std::vector<InstructionSet> sets;
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
#ifdef __AVX512F__
  sets.push_back(TRELLIS_INSTRUCTION_SET("avx512f"));
#endif
#ifdef __AVX512BW__
  sets.push_back(TRELLIS_INSTRUCTION_SET("avx512bw"));
#endif
#ifdef __AVX512DQ__
  sets.push_back(TRELLIS_INSTRUCTION_SET("avx512dq"));
#endif
#ifdef __AVX512VL__
  sets.push_back(TRELLIS_INSTRUCTION_SET("avx512vl"));
#endif
#ifdef __AVX2__
  sets.push_back(TRELLIS_INSTRUCTION_SET("avx2"));
#endif
#ifdef __AVX__
  sets.push_back(TRELLIS_INSTRUCTION_SET("avx"));
#endif
#ifdef __FMA__
  sets.push_back(TRELLIS_INSTRUCTION_SET("fma"));
#endif
#ifdef __ARM_NEON
  sets.push_back({"neon", true});  // it is part of every 64-bit Arm processor
#endif
  return sets;
}
#undef TRELLIS_INSTRUCTION_SET
}  // namespace

std::vector<std::string> compiled_instruction_sets() {
  std::vector<std::string> names;
  for (const InstructionSet& set : required_sets()) names.emplace_back(set.name);
  return names;
}

std::vector<std::string> missing_instruction_sets() {
  std::vector<std::string> names;
  for (const InstructionSet& set : required_sets())
    if (!set.is_present) names.emplace_back(set.name);
  return names;
}

}  // namespace trellis
