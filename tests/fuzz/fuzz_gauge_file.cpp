/// This program gives any bytes to the gauge file readers: they read them or throw a trellis::Error. The
/// sanitizers and libFuzzer's limits watch for everything else (see tools/fuzz).
#include <cstddef>
#include <cstdint>
#include <memory>

#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/io/gauge_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trellis;
  static const CommunicatorPtr communicator = std::make_shared<SingleCommunicator>();
  ReadOptions options;
  options.report_only = true;  // a wrong checksum is not the end: the links are read all the same
  try {
    const auto file = io::memory_input("fuzz", data, size);
    const FileReport report = probe_gauge_file(*file, options);
    GaugeField U(make_lattice(report.lattice, {0, 0, 0, 0}, communicator));
    read_gauge_field(*file, U, options);
  } catch (const Error&) {}
  return 0;
}
