/// Another program wrote and measured the field of tests/data in three formats (make_small_fields.py).
#include <gtest/gtest.h>

#include <string>

#include "trellis/gauge/loops.hpp"
#include "trellis/io/gauge_file.hpp"

namespace trellis {
namespace in_test_io_small_fields {

/// Returns a path in tests/data, beside this file's folder.
std::string data(const std::string& name) {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind("/unit/")) + "/data/" + name;
}

struct Case {
  const char* file;
  GaugeFormat format;
  int precision_bits;
  double tolerance;  ///< it is that of means over 96 sites: rounding of the stored numbers
};

class SmallFields : public ::testing::TestWithParam<Case> {};

TEST_P(SmallFields, HaveTheirNumbers) {
  const Case& c = GetParam();
  FileReport report;
  const GaugeField U = read_gauge_field(data(c.file), {0, 0, 0, 0}, nullptr, {}, &report);
  EXPECT_EQ(report.format, c.format);
  EXPECT_EQ(report.precision_bits, c.precision_bits);
  EXPECT_EQ(report.lattice, (Coord{2, 4, 2, 6}));
  EXPECT_TRUE(report.ok());
  for (const ChecksumReport& checksum : report.checksums) EXPECT_EQ(checksum.ok(), true) << checksum.kind;
  const GaugeLoops loops = measure_loops(U);
  EXPECT_NEAR(loops.plaquette, .330843934638496, c.tolerance);
  EXPECT_NEAR(loops.plaquette_spatial, .31551394953143047, c.tolerance);
  EXPECT_NEAR(loops.plaquette_temporal, .3461739197455615, c.tolerance);
  EXPECT_NEAR(loops.rectangle, .2607712052217606, c.tolerance);
  EXPECT_NEAR(loops.link_trace, .7536657465046334, c.tolerance);
  EXPECT_NEAR(loops.polyakov_loop.real(), .22974727457112168, c.tolerance);
  EXPECT_NEAR(loops.polyakov_loop.imag(), -.0011476849125163918, c.tolerance);
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallFields,
                         ::testing::Values(Case{"small.ildg", GaugeFormat::ildg, 64, 1e-14},
                                           Case{"small.nersc", GaugeFormat::nersc_two_row, 32, 3e-8},
                                           Case{"small.openqcd", GaugeFormat::openqcd, 64, 1e-14}),
                         [](const auto& info) { return std::string(info.param.file).substr(6); });

TEST(SmallFields, HaveTheirChecksums) {
  const FileReport ildg = probe_gauge_file(data("small.ildg")), nersc = probe_gauge_file(data("small.nersc"));
  EXPECT_EQ(ildg.checksums.at(0).stored, 0x8e39db18u);
  EXPECT_EQ(ildg.checksums.at(1).stored, 0x679997dbu);
  EXPECT_EQ(nersc.checksums.at(0).stored, 0xa7e41e8fu);
}

}  // namespace in_test_io_small_fields
}  // namespace trellis
