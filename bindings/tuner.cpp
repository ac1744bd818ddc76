/// Python gets the tuner's choices here and keeps them in files (python/trellis/ground/tuning.py).
#include "trellis/device/tuner.hpp"
#include "bindings.hpp"

namespace trellis::bindings {

namespace {
nb::dict to_python(const TuneKey& key, const TunedChoice& choice) {
  nb::dict d;
  d["kernel"] = key.kernel;
  d["storage"] = key.storage;
  d["lattice"] = key.lattice;
  d["cut"] = key.cut;
  d["columns"] = key.columns;
  d["threads"] = key.threads;
  d["working_set_bits"] = key.working_set_bits;
  d["way"] = choice.way;
  d["seconds"] = choice.seconds;
  d["repeats"] = choice.repeats;
  return d;
}
}  // namespace

void bind_tuner(nb::module_& m) {
  m.def("tuner_mode", [] { return std::string(name_of(tuner().mode())); });
  m.def(
      "set_tuner_mode", [](const std::string& name) { tuner().set_mode(tune_mode_by_name(name)); }, "name"_a);
  m.def("kernel_source_hash", &kernel_source_hash);
  m.def(
      "fill_tuner",
      [](const std::string& kernel, const std::string& storage, const std::string& lattice,
         const std::string& cut, int columns, int threads, int working_set_bits, int way, double seconds,
         int repeats) {
        tuner().fill({kernel, storage, lattice, cut, columns, threads, working_set_bits},
                     {way, seconds, repeats});
      },
      nb::kw_only(), "kernel"_a, "storage"_a, "lattice"_a, "cut"_a, "columns"_a, "threads"_a,
      "working_set_bits"_a, "way"_a, "seconds"_a, "repeats"_a, "A choice from a cache.");
  m.def(
      "take_tuner_records",
      [] {
        nb::list all;
        for (const auto& [key, choice] : tuner().take_records()) all.append(to_python(key, choice));
        return all;
      },
      "What trials of this process found since the last call, in `on` only.");
}

}  // namespace trellis::bindings
