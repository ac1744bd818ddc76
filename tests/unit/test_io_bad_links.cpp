/// For links that are not SU(3) errors name the first of them, and the lattice, byte order or precision that
/// was taken wrongly.
#include <gtest/gtest.h>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/gauge_file.hpp"
#include "trellis/io/reals.hpp"

namespace trellis {
namespace in_test_io_bad_links {

using namespace testing_io;

constexpr Coord extents{4, 2, 2, 4};

std::string written(const GaugeField& U, GaugeFormat format, WriteOptions options = {}) {
  const TemporaryPath path("bad_links");
  write_gauge_field(path.str(), U, format, options);
  return file_bytes(path.str());
}

/// Returns what the error says that reading onto a lattice of the file's own statement gives, or "" where it
/// reads.
template <class Error = FileError>
std::string error_of(const std::string& bytes, FileReport* report = nullptr) {
  const TemporaryPath path("bad_links_read");
  write_bytes(path.str(), bytes);
  try {
    read_gauge_field(path.str(), {1, 1, 1, 1}, std::make_shared<SingleCommunicator>(), {}, report);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Writes the numbers of the record of binary data in the other byte order, whatever its checksum.
std::string with_swapped_data(std::string bytes, size_t begin, size_t end, size_t width) {
  for (size_t at = begin; at < end; at += width)
    std::reverse(bytes.begin() + long(at), bytes.begin() + long(at + width));
  return bytes;
}

size_t lime_data(const std::string& bytes) { return bytes.find("ildg-binary-data") - 16 + 144; }

std::string without_checksum(std::string bytes) { return bytes.substr(0, bytes.rfind("\x45\x67\x89\xab")); }

TEST(BadLinks, AreNamedWithTheirContents) {
  const GaugeField U = random_field(lattice_of_one(extents));
  const Coord x{3, 1, 0, 2}, later{0, 0, 0, 3};
  const struct {
    double value;
    const char* said;
  } values[] = {{NAN, "has nan in row 2, column 3 (imaginary part)"},
                {-HUGE_VAL, "has -inf in row 2, column 3 (imaginary part)"},
                {1e300, "has 1e+300 in row 2, column 3 (imaginary part)"},
                {0.5, "away from unitarity"}};
  for (const auto& value : values) {
    std::string bytes = without_checksum(written(U, GaugeFormat::ildg));
    for (const Coord& site : {x, later}) {
      const size_t at = lime_data(bytes) + size_t(site_index(site, extents)) * 576 + 144 + 8 * 11;
      io::store_f64(reinterpret_cast<std::byte*>(bytes.data()) + at, value.value, io::ByteOrder::big);
    }
    const std::string error = error_of(bytes);
    EXPECT_TRUE(has(error, "2 of 256 links are not SU(3); the first, U_y(x=3, y=1, z=0, t=2), ")) << error;
    EXPECT_TRUE(has(error, value.said)) << error;
    EXPECT_FALSE(has(error, "-endian")) << error;
  }
}

TEST(BadLinks, InTheOtherByteOrderAreNoticed) {
  const GaugeField U = random_field(lattice_of_one(extents));
  for (const int bits : {32, 64}) {
    WriteOptions options;
    options.precision_bits = bits;
    const std::string lime = written(U, GaugeFormat::ildg, options);
    const size_t begin = lime_data(lime), width = size_t(bits) / 8;
    const std::string error =
        error_of(without_checksum(with_swapped_data(lime, begin, begin + 64 * 72 * width, width)));
    EXPECT_TRUE(has(error, "seem to be little-endian")) << error;
    EXPECT_TRUE(has(error, "expected big-endian")) << error;
  }
  const std::string openqcd = written(U, GaugeFormat::openqcd);
  const std::string error = error_of(with_swapped_data(openqcd, 24, openqcd.size(), 8));
  EXPECT_TRUE(has(error, "seem to be big-endian")) << error;
}

/// A lattice of 4x4x4x8 in 32 bits has the size of 4^4 in 64 bits.
TEST(BadLinks, OfALatticeThatWasGuessedSaySo) {
  WriteOptions options;
  options.precision_bits = 32;
  const std::string bytes = written(random_field(lattice_of_one({4, 4, 4, 8})), GaugeFormat::ildg, options);
  const size_t begin = lime_data(bytes);
  const std::string alone = bytes.substr(begin - 144, 144 + 512 * 288), error = error_of(alone);
  EXPECT_TRUE(has(error, "guessed as 4x4x4x4")) << error;
  EXPECT_TRUE(has(error, "give the lattice (--lattice")) << error;
  EXPECT_TRUE(has(error, "numbers of 32 bits")) << error;
  EXPECT_TRUE(has(error, "512 sites")) << error;
}

/// The header states a precision wrongly, and bytes after the data hide this until the checksum is compared.
TEST(BadLinks, OfAnotherPrecisionAreNoticed) {
  std::string bytes = written(random_field(lattice_of_one(extents)), GaugeFormat::nersc);
  const size_t at = bytes.find("IEEE64BIG");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 9, "IEEE32BIG");
  const std::string error = error_of<ChecksumError>(bytes);
  EXPECT_TRUE(has(error, "bytes are passed over")) << error;
  EXPECT_TRUE(has(error, "seem to be numbers of 64 bits, as which the first links are SU(3)")) << error;
  EXPECT_FALSE(has(error, " sites")) << error;
}

/// NERSC files may state neither byte order nor checksum: links decide.
TEST(NerscWithoutByteOrder, IsReadInTheOneInWhichLinksAreUnitary) {
  const GaugeField U = random_field(lattice_of_one(extents));
  for (const GaugeFormat format : {GaugeFormat::nersc, GaugeFormat::nersc_two_row})
    for (const bool is_little : {false, true}) {
      WriteOptions options;
      options.is_little_endian = is_little;
      std::string bytes = written(U, format, options);
      const size_t sum = bytes.find("CHECKSUM");
      bytes.erase(sum, bytes.find('\n', sum) + 1 - sum);
      const std::string stated = is_little ? "LITTLE\nEND" : "BIG\nEND";
      const size_t order = bytes.find(stated);
      bytes.erase(order, stated.size() - 4);
      FileReport report;
      EXPECT_EQ(error_of(bytes, &report), "");
      EXPECT_TRUE(report.ok());
      ASSERT_EQ(report.warnings.size(), 2u);
      EXPECT_TRUE(has(report.warnings[1], is_little ? "little-endian, in which links are SU(3)"
                                                    : "big-endian, in which links are SU(3)"))
          << report.warnings[1];
      std::fill(bytes.begin() + long(bytes.find("END_HEADER\n", 13)) + 11, bytes.end(), '\1');
      EXPECT_TRUE(has(error_of<ChecksumError>(bytes), "in neither order"));
    }
}

TEST(BadValues, AreSaidWithFewDigitsAndTheWarnings) {
  std::string bytes = written(random_field(lattice_of_one(extents)), GaugeFormat::nersc);
  const size_t at = bytes.find("PLAQUETTE = ");
  bytes.replace(at, bytes.find('\n', at) - at, "PLAQUETTE = 0.59");
  const std::string error = error_of<ChecksumError>(bytes);
  EXPECT_TRUE(has(error, "expected 0.59 as in the header")) << error;
  EXPECT_TRUE(has(error, "(tolerance 0.01)")) << error;
  EXPECT_TRUE(has(error, "too few digits")) << error;
}

/// Every reader would refuse the file.
TEST(BadLinks, AreNotWritten) {
  const Link zero{};
  GaugeField all(lattice_of_one(extents));
  for (int64_t site = 0; site < product(extents); ++site)
    for (int mu = 0; mu < Nd; ++mu) all.set_link(site_coord(site, extents), mu, zero);
  GaugeField one = random_field(lattice_of_one(extents));
  Link phase = one.link({1, 0, 1, 2}, 1);
  for (auto& entry : phase) entry = -entry;  // it is unitary, of determinant -1
  one.set_link({1, 0, 1, 2}, 1, phase);
  const struct {
    const GaugeField& U;
    const char* said;
  } fields[] = {
      {all, "found 1; 256 of 256 links are not SU(3); the first, U_x(x=0, y=0, z=0, t=0), is 1 away"},
      {one, "found 2; 1 of 256 links are not SU(3); the first, U_y(x=1, y=0, z=1, t=2), is "}};
  const TemporaryPath path("not_written");
  for (const auto& field : fields)
    for (const GaugeFormat format : {GaugeFormat::ildg, GaugeFormat::nersc, GaugeFormat::nersc_two_row,
                                     GaugeFormat::milc, GaugeFormat::openqcd}) {
      std::string error;
      try {
        write_gauge_field(path.str(), field.U, format);
      } catch (const NumericError& found) {
        error = found.what();
      }
      EXPECT_TRUE(has(error, field.said)) << name_of(format) << ": " << error;
      EXPECT_TRUE(has(error, "not writing " + path.str() + ": expected links that are SU(3) to 0.0001"))
          << error;
      EXPECT_FALSE(exists(path.str()));
    }
}

}  // namespace in_test_io_bad_links
}  // namespace trellis
