/// Python learns of the machine, the build and the ranks here.
#include <set>

#include "bindings.hpp"
#include "trellis/base/build_configuration.hpp"
#include "trellis/base/instruction_set.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/comm/end_of_job.hpp"
#include "trellis/comm/launcher.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/machine_speed.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/device/thread_limit.hpp"
#include "trellis/device/threads.hpp"

namespace trellis::bindings {

namespace {
/// Returns the bytes of `root` on every rank.
nb::bytes broadcast(const nb::bytes& mine, int root) {
  std::string data(mine.c_str(), mine.size());
  {
    const nb::gil_scoped_release release;
    size_t length = data.size();
    world()->broadcast(&length, sizeof(length), root);
    data.resize(length);
    world()->broadcast(data.data(), length, root);
  }
  return nb::bytes(data.data(), data.size());
}

nb::dict build() {
  nb::dict d;
  d["version"] = build_configuration::version;
  d["compiler"] = build_configuration::compiler;
  d["build_type"] = build_configuration::build_type;
  d["architecture"] = build_configuration::architecture;
  d["flags"] = build_configuration::flags;
  d["instruction_sets"] = compiled_instruction_sets();
#ifdef TRELLIS_WITH_CUDA
  d["cuda"] = true;
#else
  d["cuda"] = false;
#endif
  d["lanes_double"] = default_lanes(Precision::double_precision);
  d["lanes_float"] = default_lanes(Precision::single_precision);
  return d;
}

nb::list gpus() {
  nb::list all;
  for (const cuda::Gpu& gpu : cuda::gpus()) {
    nb::dict d;
    d["name"] = gpu.name;
    d["capability"] = gpu.capability;
    d["bytes"] = gpu.bytes;
    d["available"] = gpu.available;
    all.append(d);
  }
  return all;
}
}  // namespace

void bind_machine(nb::module_& m) {
  m.def("build", build);
  m.def("gpus", gpus, "GPUs that this process sees: name, capability, bytes, available.");
  m.def("why_no_gpu", &cuda::why_no_gpu, "Empty if the device \"cuda\" can be used, else why not.");
  m.def(
      "read_bandwidth",
      [](size_t bytes, int threads, double seconds) {
        return ReadBandwidth(bytes, threads).measure(seconds);
      },
      "bytes"_a, "threads"_a, "seconds"_a, release_gil(), "Bytes per second.");
  m.def("triad_bandwidth", &measure_triad_bandwidth, "bytes"_a, "threads"_a, "seconds"_a, release_gil(),
        "Bytes per second.");
  m.def(
      "fma_peak",
      [](const std::string& precision, int threads, double seconds) {
        return measure_fma_peak(precision_by_name(precision), threads, seconds);
      },
      "precision"_a, "threads"_a, "seconds"_a, release_gil(), "Flops per second.");
  m.def("launcher_variables", &launcher_variables);
  m.def("rank", [] { return world()->rank(); });
  m.def("size", [] { return world()->size(); });
  m.def("nodes", [] {
    const std::vector<int>& nodes = world()->nodes();
    return std::set<int>(nodes.begin(), nodes.end()).size();
  });
  m.def("communication_library", &communication_library);
  m.def("exchange_policy", [] { return std::string(name_of(exchange_policy())); });
  m.def(
      "set_exchange_policy",
      [](const std::string& name) { set_exchange_policy(exchange_policy_by_name(name)); }, "name"_a);
  m.def(
      "halo_way_names",
      [] {
        nb::list names;
        for (const TransportWay way : transport_ways) names.append(name_of(way));
        return names;
      },
      "As the tuner's choices count the ways of halos.");
  m.def("communicator_name", [] { return std::string(world()->name()); });
  m.def(
      "barrier", [] { world()->barrier(); }, release_gil());
  m.def("broadcast", broadcast, "data"_a, "root"_a = 0);
  m.def(
      "minimum", [](double value) { return world()->minimum(value); }, "value"_a, release_gil());
  m.def(
      "maximum", [](double value) { return world()->maximum(value); }, "value"_a, release_gil());
  m.def(
      "abort", [](int status) { abort_all_ranks(status); }, "status"_a,
      "Ends the job on all ranks at once; for the command line only.");
  m.def("is_one_of_several_ranks", &is_one_of_several_ranks, "Starts nothing.");
  m.def("end_rank", &end_rank, "status"_a, release_gil(), "Waits for the end of all ranks, or ends the job.");
  m.def("thread_count", &thread_count);
  m.def("usable_cores", &usable_cores);
  m.def("most_threads", &most_threads, "Eight for each core of the machine.");
  m.def("set_thread_count", &set_thread_count, "threads"_a);
  m.def("memory_available", &memory_available);
  m.def(
      "require_memory",
      [](size_t bytes, const std::string& purpose) { require_memory(bytes, purpose.c_str()); }, "bytes"_a,
      "purpose"_a);
}

}  // namespace trellis::bindings
