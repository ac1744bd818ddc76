/// Gauge configurations made by other programs are read (the folder named by TRELLIS_TEST_DATA) with their
/// values, checksums and formats.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/io/gauge_file.hpp"

namespace trellis {
namespace in_test_gauge_files {

struct Expected {
  const char* file;
  GaugeFormat format;
  Coord lattice;
  int precision_bits;
  double plaquette, link_trace;
  std::vector<uint32_t> stored;  ///< these checksums stand in the file
};

void PrintTo(const Expected& e, std::ostream* out) { *out << e.file; }

// The data folder's README.md has these numbers.
const Expected table[] = {
    {"weak_field/weak_field.lime",
     GaugeFormat::ildg,
     {4, 4, 4, 8},
     64,
     .9948041322667,
     .379449348715193,
     {0xa2c41090, 0x11193c39}},
    {"analysistoolbox/nersc.l8t4b3360",
     GaugeFormat::nersc,
     {8, 8, 8, 4},
     64,
     .503866446949594,
     .005406083857887,
     {0xb379560a}},
    {"analysistoolbox/ildg.l8t4b3360",
     GaugeFormat::ildg,
     {8, 8, 8, 4},
     64,
     .503866446949594,
     .005406083857887,
     {0x10d0ea1a, 0xa6a1b3b8}},
    {"milc/lat.sample.l4444",
     GaugeFormat::milc,
     {4, 4, 4, 4},
     32,
     .594850158947151,
     .646758737418963,
     {0x2352c05, 0xd137321d}},
    {"milc/lat.sample.l4444.ildg",
     GaugeFormat::ildg,
     {4, 4, 4, 4},
     32,
     .594850158947151,
     .646758737418963,
     {0x37affb9c, 0x2fc07bbf}},
    {"milc/lat.sample.l4444.scidac",
     GaugeFormat::scidac,
     {4, 4, 4, 4},
     32,
     .594850158947151,
     .646758737418963,
     {0x37affb9c, 0x2fc07bbf}},
    {"milc/lat.sample.l4448",
     GaugeFormat::milc,
     {4, 4, 4, 8},
     32,
     .569055724369011,
     .069216590060586,
     {0x13f3b413, 0x161f7dde}},
    {"milc/lat.sample.l8",
     GaugeFormat::scidac,
     {8, 8, 8, 8},
     32,
     .873640874413250,
     .965058851973784,
     {0xd2f7866d, 0x5f48ca3e}},
    {"metaqcd/testconf.txt",
     GaugeFormat::bridge_text,
     {4, 4, 4, 4},
     64,
     .587818337847024,
     .026359245606164,
     {}},
    {"quenched/b6.0_4x4x4x4.ildg",
     GaugeFormat::ildg,
     {4, 4, 4, 4},
     64,
     .5955652897030683,
     -.008127792594870,
     {0xcae64ce2, 0x4ea574ee}},
    {"quenched/b6.0_8x8x8x8.ildg",
     GaugeFormat::ildg,
     {8, 8, 8, 8},
     64,
     .5924316992043288,
     .003552633848351,
     {}},
};

std::string data_folder() {
  const char* folder = std::getenv("TRELLIS_TEST_DATA");
  return folder ? std::string(folder) + "/" : "";
}

class ExternalGaugeFile : public ::testing::TestWithParam<Expected> {
 protected:
  void SetUp() override {
    if (data_folder().empty()) GTEST_SKIP() << "no data";
  }
};

TEST_P(ExternalGaugeFile, HasThePublishedValues) {
  const Expected& e = GetParam();
  FileReport report;
  const GaugeField U = read_gauge_field(data_folder() + e.file, {0, 0, 0, 0}, nullptr, {}, &report);
  EXPECT_STREQ(name_of(report.format), name_of(e.format));
  EXPECT_EQ(report.lattice, e.lattice);
  EXPECT_EQ(report.precision_bits, e.precision_bits);
  const GaugeLoops found = measure_loops(U);
  const double tolerance = e.precision_bits == 64 ? 1e-13 : 1e-6;
  EXPECT_NEAR(found.plaquette, e.plaquette, tolerance);
  EXPECT_NEAR(found.link_trace, e.link_trace, tolerance);
  EXPECT_TRUE(report.ok());
}

TEST_P(ExternalGaugeFile, HasTheStoredChecksums) {
  const Expected& e = GetParam();
  const FileReport probed = probe_gauge_file(data_folder() + e.file);
  for (size_t i = 0; i < e.stored.size(); ++i) {
    ASSERT_LT(i, probed.checksums.size());
    EXPECT_EQ(probed.checksums[i].stored, e.stored[i]);
  }
  FileReport report;
  read_gauge_field(data_folder() + e.file, {0, 0, 0, 0}, nullptr, {}, &report);
  for (const ChecksumReport& c : report.checksums) EXPECT_EQ(c.ok(), true) << c.kind;
}

INSTANTIATE_TEST_SUITE_P(Files, ExternalGaugeFile, ::testing::ValuesIn(table));

std::vector<double> canonical_links(const std::string& file) {
  const GaugeField U = read_gauge_field(data_folder() + file);
  std::vector<double> links(U.canonical_size());
  U.to_canonical(links.data());
  return links;
}

TEST(ExternalGaugeFiles, OfTheSameFieldHoldTheSameLinks) {
  if (data_folder().empty()) GTEST_SKIP() << "no data";
  const auto nersc = canonical_links("analysistoolbox/nersc.l8t4b3360"),
             ildg = canonical_links("analysistoolbox/ildg.l8t4b3360");
  double largest = 0.0;
  for (size_t i = 0; i < nersc.size(); ++i) largest = std::max(largest, std::abs(nersc[i] - ildg.at(i)));
  EXPECT_LE(largest, 4 * 2.3e-16);  // the other program rounded once more between the two
  const auto milc = canonical_links("milc/lat.sample.l4444");
  EXPECT_EQ(milc, canonical_links("milc/lat.sample.l4444.ildg"));
  EXPECT_EQ(milc, canonical_links("milc/lat.sample.l4444.scidac"));
}

TEST(ExternalGaugeFiles, FatLinksAreRefusedAndReported) {
  if (data_folder().empty()) GTEST_SKIP() << "no data";
  const std::string path = data_folder() + "milc/fat.l8";
  EXPECT_THROW(read_gauge_field(path), FileError);
  FileReport report;
  ReadOptions options;
  options.report_only = true;
  read_gauge_field(path, {0, 0, 0, 0}, nullptr, options, &report);
  EXPECT_EQ(report.checksums.at(0).ok(), true);
  EXPECT_FALSE(report.ok());
  EXPECT_THROW(read_gauge_field(data_folder() + "milc/ksvector.src.sample.l8"), FileError);
}

}  // namespace in_test_gauge_files
}  // namespace trellis
