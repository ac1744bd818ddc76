/// This program gives any bytes to the reader of site fields in SciDAC files: it reads them or throws a
/// trellis::Error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/io/site_field_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trellis;
  // The gauge files of write_seeds are site fields of 72 reals on this lattice.
  static const LatticePtr lattice =
      make_lattice({2, 2, 2, 4}, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  constexpr int64_t reals_per_site = 72;
  std::vector<double> field(size_t(lattice->volume() * reals_per_site));
  ReadOptions options;
  options.report_only = true;
  try {
    read_site_field(*io::memory_input("fuzz", data, size), *lattice, field.data(), reals_per_site, options);
  } catch (const Error&) {}
  try {
    SiteFieldReport report;
    (void)read_site_fields(*io::memory_input("fuzz", data, size), *lattice, reals_per_site, report);
  } catch (const Error&) {}
  return 0;
}
