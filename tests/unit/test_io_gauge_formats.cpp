/// Each gauge format has round trips bit for bit, and single numbers where the format's definition puts them.
#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstring>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/io/gauge_file.hpp"
#include "trellis/io/reals.hpp"

namespace trellis {
namespace in_test_io_gauge_formats {

using namespace testing_io;
using io::ByteOrder;

constexpr Coord extents{4, 2, 6, 8};

struct Case {
  const char* name;
  GaugeFormat format;
  int bits;
  bool is_little;
};
const Case cases[] = {
    {"ildg64", GaugeFormat::ildg, 64, false},
    {"ildg32", GaugeFormat::ildg, 32, false},
    {"scidac64", GaugeFormat::scidac, 64, false},
    {"scidac32", GaugeFormat::scidac, 32, false},
    {"nersc64big", GaugeFormat::nersc, 64, false},
    {"nersc64little", GaugeFormat::nersc, 64, true},
    {"nersc32big", GaugeFormat::nersc, 32, false},
    {"nersc32little", GaugeFormat::nersc, 32, true},
    {"two_row64", GaugeFormat::nersc_two_row, 64, false},
    {"two_row32", GaugeFormat::nersc_two_row, 32, true},
    {"milc_big", GaugeFormat::milc, 32, false},
    {"milc_little", GaugeFormat::milc, 32, true},
    {"openqcd", GaugeFormat::openqcd, 64, false},
};

WriteOptions options_of(const Case& c) {
  WriteOptions options;
  options.precision_bits = c.bits;
  options.is_little_endian = c.is_little;
  return options;
}

class GaugeFormats : public ::testing::TestWithParam<Case> {};

TEST_P(GaugeFormats, GiveBackWhatWasWritten) {
  const Case& c = GetParam();
  const TemporaryPath path(std::string("round_trip_") + c.name), again(std::string("again_") + c.name);
  const GaugeField U = random_field(lattice_of_one(extents));
  write_gauge_field(path.str(), U, c.format, options_of(c));
  EXPECT_FALSE(exists(path.str() + ".partial"));
  const FileReport probed = probe_gauge_file(path.str());
  EXPECT_EQ(probed.format, c.format);
  EXPECT_EQ(probed.lattice, extents);
  EXPECT_EQ(probed.precision_bits, c.bits);

  GaugeField V(U.lattice_ptr());
  const FileReport report = read_gauge_field(path.str(), V);
  EXPECT_TRUE(report.ok());
  for (const ChecksumReport& checksum : report.checksums) EXPECT_EQ(checksum.ok(), true) << checksum.kind;
  const std::vector<double> written = canonical(U), found = canonical(V);
  const double epsilon = c.bits == 32 ? 6e-8 : 1.2e-16;
  for (size_t i = 0; i < written.size(); ++i) {
    const double expected = c.bits == 32 ? double(float(written[i])) : written[i];
    const bool is_completed =
        c.format == GaugeFormat::nersc_two_row && i % 18 >= 12;  // these are products of four stored numbers
    if (is_completed)
      ASSERT_NEAR(found[i], expected, 8 * epsilon) << i;
    else
      ASSERT_EQ(found[i], expected) << i;
  }
  // Writing what was read gives the same file; the header's values may differ in their last digits.
  if (c.format == GaugeFormat::ildg || c.format == GaugeFormat::scidac || c.format == GaugeFormat::milc) {
    write_gauge_field(again.str(), V, c.format, options_of(c));
    EXPECT_TRUE(file_bytes(path.str()) == file_bytes(again.str()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, GaugeFormats, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(GaugeFormatNames, AreFoundAgainAndOthersRefused) {
  for (const char* name : {"ildg", "scidac", "nersc", "nersc-2row", "milc", "openqcd", "bridge-text"})
    EXPECT_STREQ(name_of(gauge_format_by_name(name)), name);
  EXPECT_THROW(gauge_format_by_name("ilgd"), BadArgument);
}

TEST(GaugeFormats, RefuseWhatTheyCannotHold) {
  const GaugeField U(lattice_of_one({2, 2, 2, 2}));
  const TemporaryPath path("refused");
  WriteOptions options;
  options.precision_bits = 64;
  EXPECT_THROW(write_gauge_field(path.str(), U, GaugeFormat::milc, options), BadArgument);
  options.precision_bits = 32;
  EXPECT_THROW(write_gauge_field(path.str(), U, GaugeFormat::openqcd, options), BadArgument);
  options.precision_bits = 16;
  EXPECT_THROW(write_gauge_field(path.str(), U, GaugeFormat::ildg, options), BadArgument);
  options = {};
  options.is_little_endian = true;
  EXPECT_THROW(write_gauge_field(path.str(), U, GaugeFormat::ildg, options), BadArgument);
  EXPECT_THROW(write_gauge_field(path.str(), U, GaugeFormat::bridge_text), BadArgument);
  EXPECT_FALSE(exists(path.str()));
}

double double_at(const std::string& bytes, size_t at, ByteOrder order) {
  return io::load_f64(reinterpret_cast<const std::byte*>(bytes.data()) + at, order);
}

uint32_t word_at(const std::string& bytes, size_t at, ByteOrder order) {
  return io::load_u32(reinterpret_cast<const std::byte*>(bytes.data()) + at, order);
}

/// By doc/formats.md, openQCD, the place of each link is worked out here by counting odd sites.
TEST(OpenQcd, StoresEightLinksOfOddSites) {
  const TemporaryPath path("openqcd_layout");
  const GaugeField U = random_field(lattice_of_one(extents));
  write_gauge_field(path.str(), U, GaugeFormat::openqcd);
  const std::string bytes = file_bytes(path.str());
  ASSERT_EQ(bytes.size(), 24u + size_t(product(extents)) * 4 * 144);
  EXPECT_EQ(word_at(bytes, 0, ByteOrder::little), 8u);   // t
  EXPECT_EQ(word_at(bytes, 4, ByteOrder::little), 4u);   // x
  EXPECT_EQ(word_at(bytes, 8, ByteOrder::little), 2u);   // y
  EXPECT_EQ(word_at(bytes, 12, ByteOrder::little), 6u);  // z
  EXPECT_NEAR(double_at(bytes, 16, ByteOrder::little), 3.0 * plaquette(U), 1e-14);
  size_t at = 24;
  const int direction[4] = {3, 0, 1, 2};
  for (int t = 0; t < extents[3]; ++t)
    for (int x = 0; x < extents[0]; ++x)
      for (int y = 0; y < extents[1]; ++y)
        for (int z = 0; z < extents[2]; ++z) {
          if ((t + x + y + z) % 2 == 0) continue;
          for (const int mu : direction)
            for (const int back : {0, 1}) {
              Coord site{x, y, z, t};
              site[size_t(mu)] = (site[size_t(mu)] + extents[size_t(mu)] - back) % extents[size_t(mu)];
              const Link link = U.link(site, mu);
              for (size_t k = 0; k < 9; ++k, at += 16) {
                ASSERT_EQ(double_at(bytes, at, ByteOrder::little), link[k].real());
                ASSERT_EQ(double_at(bytes, at + 8, ByteOrder::little), link[k].imag());
              }
            }
        }
  EXPECT_EQ(at, bytes.size());
}

/// ILDG has t, z, y, x, mu, row, column, re/im, big-endian; the checksum pair follows from its definition.
TEST(Ildg, HasTheStandardsOrderAndChecksum) {
  const TemporaryPath path("ildg_layout");
  const GaugeField U = random_field(lattice_of_one(extents));
  WriteOptions options;
  options.logical_file_name = "lfn://trellis/test";
  options.extra_records = {{"xlf-info", "a note"}};
  write_gauge_field(path.str(), U, GaugeFormat::ildg, options);
  const std::string bytes = file_bytes(path.str());
  const size_t type = bytes.find("ildg-binary-data");
  ASSERT_NE(type, std::string::npos);
  size_t at = type - 16 + 144;
  uint32_t a = 0, b = 0;
  int64_t rank = 0;
  for (int t = 0; t < extents[3]; ++t)
    for (int z = 0; z < extents[2]; ++z)
      for (int y = 0; y < extents[1]; ++y)
        for (int x = 0; x < extents[0]; ++x, ++rank) {
          const auto crc = uint32_t(::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()) + at, 576));
          a ^= std::rotl(crc, int(rank % 29));
          b ^= std::rotl(crc, int(rank % 31));
          for (int mu = 0; mu < Nd; ++mu) {
            const Link link = U.link({x, y, z, t}, mu);
            for (size_t k = 0; k < 9; ++k, at += 16) {
              ASSERT_EQ(double_at(bytes, at, ByteOrder::big), link[k].real());
              ASSERT_EQ(double_at(bytes, at + 8, ByteOrder::big), link[k].imag());
            }
          }
        }
  const FileReport report = probe_gauge_file(path.str());
  EXPECT_EQ(report.checksums.at(0).stored, a);
  EXPECT_EQ(report.checksums.at(1).stored, b);
  const std::pair<std::string, std::string> name{"ildg-data-lfn", "lfn://trellis/test"},
      note{"xlf-info", "a note"};
  EXPECT_NE(std::find(report.metadata.begin(), report.metadata.end(), name), report.metadata.end());
  EXPECT_NE(std::find(report.metadata.begin(), report.metadata.end(), note), report.metadata.end());
}

TEST(Milc, ChecksumsRotateWords) {
  for (const bool is_little : {false, true}) {
    const ByteOrder order = is_little ? ByteOrder::little : ByteOrder::big;
    const TemporaryPath path("milc_layout");
    WriteOptions options;
    options.is_little_endian = is_little;
    options.date = "Thu Jan  1 1998";
    write_gauge_field(path.str(), random_field(lattice_of_one(extents)), GaugeFormat::milc, options);
    const std::string bytes = file_bytes(path.str());
    ASSERT_EQ(bytes.size(), 96u + size_t(product(extents)) * 288);
    uint32_t sum29 = 0, sum31 = 0;
    for (size_t k = 0; k < (bytes.size() - 96) / 4; ++k) {
      sum29 ^= std::rotl(word_at(bytes, 96 + 4 * k, order), int(k % 29));
      sum31 ^= std::rotl(word_at(bytes, 96 + 4 * k, order), int(k % 31));
    }
    EXPECT_EQ(word_at(bytes, 0, order), 20103u);
    EXPECT_EQ(word_at(bytes, 4, order), 4u);
    EXPECT_EQ(word_at(bytes, 16, order), 8u);
    EXPECT_EQ(word_at(bytes, 88, order), sum29);
    EXPECT_EQ(word_at(bytes, 92, order), sum31);
    EXPECT_STREQ(bytes.c_str() + 20, "Thu Jan  1 1998");
  }
}

std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return bytes.replace(at, from.size(), to);
}

/// The header has 'IEEE32' or 'IEEE64' without a suffix: the checksum decides, and without one little-endian
/// is taken.
TEST(Nersc, ByteOrderMayBeLeftOpen) {
  const LatticePtr lattice = lattice_of_one(extents);
  const GaugeField U = random_field(lattice);
  for (const bool is_little : {false, true}) {
    const TemporaryPath path("nersc_open");
    WriteOptions options;
    options.is_little_endian = is_little;
    write_gauge_field(path.str(), U, GaugeFormat::nersc, options);
    const std::string stated = is_little ? "IEEE64LITTLE" : "IEEE64BIG";
    const std::string bytes = file_bytes(path.str());
    write_bytes(path.str(), replaced(bytes, stated, "IEEE64"));
    GaugeField V(lattice);
    EXPECT_TRUE(read_gauge_field(path.str(), V).ok());
    EXPECT_EQ(canonical(U), canonical(V));
    // A wrong statement is an error that says so.
    write_bytes(path.str(), replaced(bytes, stated, is_little ? "IEEE64BIG" : "IEEE64LITTLE"));
    try {
      read_gauge_field(path.str(), V);
      ADD_FAILURE() << "read with the wrong byte order";
    } catch (const ChecksumError& error) {
      EXPECT_NE(std::string(error.what()).find("other byte order"), std::string::npos) << error.what();
    }
  }
}

TEST(Nersc, HeaderValuesAreChecked) {
  const LatticePtr lattice = lattice_of_one(extents);
  const GaugeField U = random_field(lattice);
  const TemporaryPath path("nersc_values");
  write_gauge_field(path.str(), U, GaugeFormat::nersc);
  const std::string bytes = file_bytes(path.str());
  GaugeField V(lattice);
  for (const char* key : {"PLAQUETTE = ", "LINK_TRACE = "}) {
    const size_t at = bytes.find(key);
    const std::string line = bytes.substr(at, bytes.find('\n', at) - at);
    write_bytes(path.str(), replaced(bytes, line, std::string(key) + "0.123"));
    EXPECT_THROW(read_gauge_field(path.str(), V), ChecksumError);
    ReadOptions options;
    options.report_only = true;
    EXPECT_FALSE(read_gauge_field(path.str(), V, options).ok());
    // Rounded to few digits it is right, and left out it is a warning.
    char rounded[32];
    std::snprintf(rounded, sizeof rounded, "%.4f", *key == 'P' ? plaquette(U) : link_trace(U));
    write_bytes(path.str(), replaced(bytes, line, std::string(key) + rounded));
    EXPECT_TRUE(read_gauge_field(path.str(), V).ok());
    write_bytes(path.str(), replaced(bytes, line + "\n", ""));
    EXPECT_EQ(read_gauge_field(path.str(), V).warnings.size(), 1u);
  }
}

TEST(Nersc, HeadersAreReadAsPeopleWriteThem) {
  const LatticePtr lattice = lattice_of_one(extents);
  const GaugeField U = random_field(lattice);
  const TemporaryPath path("nersc_blanks");
  write_gauge_field(path.str(), U, GaugeFormat::nersc);
  const std::string bytes = file_bytes(path.str());
  const auto line_ends = [&](const std::string& line_end) {
    const size_t end = bytes.find("END_HEADER\n", 13) + 11;
    std::string header;
    for (const char c : bytes.substr(0, end)) header += c == '\n' ? line_end : std::string(1, c);
    return header.substr(0, header.rfind('\n') + 1) + bytes.substr(end);
  };
  const std::string changed[] = {replaced(bytes, "CHECKSUM = ", "CHECKSUM = 0x"),
                                 replaced(bytes, "PLAQUETTE = ", "PLAQUETTE=+"),
                                 replaced(bytes, "IEEE64BIG", "ieee64big"),
                                 replaced(bytes, "GAUGE_3x3", "GAUGE_3X3"),
                                 replaced(bytes, "\nEND_HEADER", "\n \tEND_HEADER"),
                                 replaced(bytes, "BOUNDARY_1", "\n# the end = END_HEADER?\n\n\tBOUNDARY_1"),
                                 line_ends("\r\n"),
                                 line_ends(" \n  ")};
  for (const std::string& text : changed) {
    write_bytes(path.str(), text);
    GaugeField V(lattice);
    EXPECT_TRUE(read_gauge_field(path.str(), V).ok()) << text.substr(0, 200);
    EXPECT_EQ(canonical(U), canonical(V));
  }
}

TEST(BridgeText, ReadsNumbersALine) {
  const LatticePtr lattice = lattice_of_one({2, 4, 2, 2});
  const GaugeField U = random_field(lattice);
  std::string text;
  for (const double x : canonical(U)) {
    char line[40];
    std::snprintf(line, sizeof line, "%.17g\n", x);
    text += line;
  }
  const TemporaryPath path("bridge");
  write_bytes(path.str(), text);
  GaugeField V(lattice);
  const FileReport report = read_gauge_field(path.str(), V);
  EXPECT_EQ(report.format, GaugeFormat::bridge_text);
  EXPECT_EQ(canonical(U), canonical(V));
  EXPECT_THROW(probe_gauge_file(path.str()), FileError);  // 32 sites are no hypercube
  ReadOptions options;
  options.lattice = Coord{4, 4, 2, 2};
  EXPECT_THROW(probe_gauge_file(path.str(), options), FileError);
  const size_t last = text.rfind('\n', text.size() - 2) + 1;  // this is the last number
  for (const size_t length : {text.size() / 2, last - 1, last, last + 1}) {
    write_bytes(path.str(), text.substr(0, length));
    EXPECT_THROW(read_gauge_field(path.str(), V), FileError) << length;
  }
  write_bytes(path.str(), replaced(text, "0.", "0,"));
  EXPECT_THROW(read_gauge_field(path.str(), V), FileError);
}

TEST(BridgeText, IsReadAsProgramsWriteIt) {
  const LatticePtr lattice = lattice_of_one({2, 2, 2, 2});
  const GaugeField U = random_field(lattice);
  std::string text, fortran;
  for (const double x : canonical(U)) {
    char line[40];
    std::snprintf(line, sizeof line, "%.17e\n", x);
    text += line;
    *std::strchr(line, 'e') = 'D';
    fortran += line;
  }
  const size_t middle = text.find('\n', text.size() / 2) + 1;
  const std::string comment = "# " + std::string(300, 'x') + " = 1\n";
  const struct {
    std::string text, said;
  } texts[] = {{comment + text.substr(0, middle) + "  #\n" + text.substr(middle), "passed over: 2"},
               {fortran, "Fortran"},
               {text.substr(0, text.size() - 1), "no line end follows the last number"}};
  const TemporaryPath path("bridge_odd");
  GaugeField V(lattice);
  for (const auto& [content, said] : texts) {
    write_bytes(path.str(), content);
    const FileReport report = read_gauge_field(path.str(), V);
    EXPECT_EQ(canonical(U), canonical(V));
    ASSERT_EQ(report.warnings.size(), 2u);
    EXPECT_NE(report.warnings[1].find(said), std::string::npos) << report.warnings[1];
  }
}

/// The error names the line, with what was found there, in the first lines too.
TEST(BridgeText, NamesWhatIsNoNumber) {
  const LatticePtr lattice = lattice_of_one({2, 2, 2, 2});
  const GaugeField U = random_field(lattice);
  const TemporaryPath path("bridge_bad");
  GaugeField V(lattice);
  for (const int line : {1, 2, 300})
    for (const char* word : {"nan", "-NaN", "inf", "Infinity", "0,5", "1e999", "1.0#", "x"}) {
      std::string text = "# a comment\n";
      int at = 1;
      for (const double x : canonical(U)) {
        char number[40];
        std::snprintf(number, sizeof number, "%.17g\n", x);
        text += at++ == line ? std::string(word) + "\n" : std::string(number);
      }
      write_bytes(path.str(), text);
      try {
        read_gauge_field(path.str(), V);
        ADD_FAILURE() << "read " << word;
      } catch (const FileError& error) {
        const std::string said =
            "line " + std::to_string(line + 1) + ": expected a number, found '" + word + "'";
        EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
      }
    }
}

}  // namespace in_test_io_gauge_formats
}  // namespace trellis
