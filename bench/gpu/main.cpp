/// `gpu_bench SECTION SECONDS EXTENT,EXTENT...` prints times of the cuda backend, and compares its bits with
/// those of the CPU on the first lattice. Sections are processes of their own, since after a fault in a
/// kernel a process can use the GPU no more. tools/gpu_check_run.sh runs them.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>

#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/gpu.hpp"

namespace trellis::gpu_check {
namespace {
struct Kind {
  const char* name;
  void (*measure)(Section&, const std::vector<int>& extents);
};
constexpr Kind kinds[] = {
    {"hops", measure_hops},     {"algebra", measure_algebra},       {"gauge", measure_gauge},
    {"solves", measure_solves}, {"trajectory", measure_trajectory}, {"measurements", measure_measurements},
    {"glass", measure_glass},   {"multigrid", measure_multigrid},   {"counters", measure_counters},
    {"halos", measure_halos}};

std::vector<int> extents_of(const char* text) {
  std::vector<int> extents;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) extents.push_back(std::atoi(word.c_str()));
  for (const int L : extents)
    if (L < 4 || L % 2 != 0)
      throw BadArgument(message("extents are even numbers from 4, separated by commas; found '", text, "'"));
  if (extents.empty()) throw BadArgument("no extents were given; gpu_bench hops 60 16,32");
  return extents;
}

int run(int argc, char** argv) {
  const Kind* kind = nullptr;
  for (const Kind& k : kinds)
    if (argc == 4 && std::strcmp(argv[1], k.name) == 0) kind = &k;
  if (kind == nullptr)
    throw BadArgument(
        "usage: gpu_bench hops|algebra|gauge|solves|trajectory|measurements|multigrid|glass|counters|"
        "halos "
        "SECONDS EXTENT,EXTENT...");
  const std::vector<int> extents = extents_of(argv[3]);
  if (const std::string why = cuda::why_no_gpu(); !why.empty()) throw NotAvailable(why);
  Section section(kind->name, std::atof(argv[2]));
  kind->measure(section, extents);
  return section.finish();
}
}  // namespace
}  // namespace trellis::gpu_check

int main(int argc, char** argv) {
  try {
    return trellis::gpu_check::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "gpu_bench: " << error.what() << std::endl;
    return 2;
  }
}
