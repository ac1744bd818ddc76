/// Site fields and propagators are kept in SciDAC files.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/lime.hpp"
#include "trellis/io/site_field_file.hpp"

namespace trellis {
namespace in_test_io_site_field {

using namespace testing_io;

constexpr Coord extents{4, 2, 2, 6};

std::vector<double> numbers(size_t count) {
  std::mt19937_64 generator(7);
  std::vector<double> values(count);
  for (double& x : values) x = double(generator() >> 11) / 9007199254740992.0 - 0.5;
  return values;
}

TEST(Propagators, AreGivenBack) {
  const LatticePtr lattice = lattice_of_one(extents);
  const std::vector<double> written = numbers(size_t(lattice->volume() * propagator_reals));
  for (const int bits : {32, 64}) {
    const TemporaryPath path("propagator");
    SiteFieldOptions options;
    options.precision_bits = bits;
    options.record_xml = "<kappa>0.13</kappa>";
    write_propagator(path.str(), *lattice, written.data(), options);
    std::vector<double> found(written.size());
    const SiteFieldReport report = read_propagator(path.str(), *lattice, found.data());
    EXPECT_EQ(report.precision_bits, bits);
    EXPECT_EQ(report.datatype, "Lattice");
    EXPECT_EQ(report.checksums.at(0).ok(), true);
    EXPECT_EQ(report.checksums.at(1).ok(), true);
    for (size_t i = 0; i < written.size(); ++i)
      ASSERT_EQ(found[i], bits == 64 ? written[i] : double(float(written[i])));
    const std::pair<std::string, std::string> xml{"scidac-record-xml", "<kappa>0.13</kappa>"};
    EXPECT_NE(std::find(report.metadata.begin(), report.metadata.end(), xml), report.metadata.end());

    const std::string bytes = file_bytes(path.str());
    std::string flipped = bytes;
    flipped[bytes.size() / 2] = char(flipped[bytes.size() / 2] ^ 1);
    write_bytes(path.str(), flipped);
    EXPECT_THROW(read_propagator(path.str(), *lattice, found.data()), ChecksumError);
    for (const size_t length : {size_t(0), size_t(100), bytes.size() / 2, bytes.size() - 8}) {
      write_bytes(path.str(), bytes.substr(0, length));
      EXPECT_THROW(read_propagator(path.str(), *lattice, found.data()), FileError) << length;
    }
  }
}

/// The typesize is 4*4*3*3*2*8 bytes a site, with one datum, big-endian, sites x fastest.
TEST(Propagators, HaveTheLayoutOfQdp) {
  const TemporaryPath path("propagator_layout");
  const LatticePtr lattice = lattice_of_one(extents);
  const std::vector<double> written = numbers(size_t(lattice->volume() * propagator_reals));
  write_propagator(path.str(), *lattice, written.data());
  SingleCommunicator communicator;
  const auto file = io::open_input(path.str(), communicator);
  std::vector<std::string> warnings;
  const auto records = io::scan_lime(*file, warnings);
  EXPECT_TRUE(warnings.empty());
  const int xml = io::find_record(records, "scidac-private-record-xml"),
            data = io::find_record(records, "scidac-binary-data");
  ASSERT_GE(data, 0);
  const std::string text = io::record_text(*file, records[size_t(xml)]);
  EXPECT_EQ(io::xml_value(text, "typesize"), "2304");
  EXPECT_EQ(io::xml_value(text, "datacount"), "1");
  EXPECT_EQ(io::xml_value(text, "precision"), "D");
  const std::string bytes = file_bytes(path.str());
  for (size_t i = 0; i < written.size(); i += 101) {
    std::string reversed = bytes.substr(size_t(records[size_t(data)].offset) + 8 * i, 8);
    std::reverse(reversed.begin(), reversed.end());
    double value;
    std::memcpy(&value, reversed.data(), 8);
    ASSERT_EQ(value, written[i]);
  }
}

TEST(SiteFields, OfAnotherSizeAreRefused) {
  const TemporaryPath path("other");
  const LatticePtr lattice = lattice_of_one(extents), other = lattice_of_one({2, 4, 2, 6});
  const std::vector<double> written = numbers(size_t(lattice->volume() * 24));
  write_site_field(path.str(), *lattice, written.data(), 24);
  std::vector<double> found(written.size() * 2);
  EXPECT_THROW(read_site_field(path.str(), *lattice, found.data(), 48), FileError);
  EXPECT_THROW(read_site_field(path.str(), *lattice, found.data(), 12), FileError);
  try {
    read_site_field(path.str(), *other, found.data(), 24);
    FAIL() << "another lattice";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("expected the lattice 2x4x2x6, found 4x2x2x6"),
              std::string::npos)
        << error.what();
  }
  std::string bytes = file_bytes(path.str());
  const size_t at = bytes.find("<precision>D");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 11] = 'F';
  const TemporaryPath claimed("claimed");
  write_bytes(claimed.str(), bytes);
  try {
    read_site_field(claimed.str(), *lattice, found.data(), 24);
    FAIL() << "another precision";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("found scidac-binary-data of 18432 bytes in 32 bits"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(read_site_field(path.str(), *lattice, found.data(), 24).reals_per_site, 24);
}

/// MILC's colour vectors of single precision have their stored checksums.
TEST(SiteFields, OfAnotherProgramAreRead) {
  const char* folder = std::getenv("TRELLIS_TEST_DATA");
  if (folder == nullptr) GTEST_SKIP() << "no data";
  const LatticePtr lattice = lattice_of_one({8, 8, 8, 8});
  std::vector<double> vector(size_t(lattice->volume()) * 6);
  const std::string path = std::string(folder) + "/milc/ksvector.src.sample.l8";
  const SiteFieldReport report = read_site_field(path, *lattice, vector.data(), 6);
  EXPECT_EQ(report.precision_bits, 32);
  EXPECT_EQ(report.datatype, "QDP_F3_ColorVector");
  EXPECT_EQ(report.checksums.at(0).stored, 0x18c175b6u);
  EXPECT_EQ(report.checksums.at(1).stored, 0xadc0f9eeu);
}

}  // namespace in_test_io_site_field
}  // namespace trellis
