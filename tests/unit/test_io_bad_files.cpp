/// Broken files of every format end in typed errors; failed writes leave the old file.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/gauge_file.hpp"
#include "trellis/io/hdf5.hpp"
#include "trellis/io/lime.hpp"

namespace trellis {
namespace in_test_io_bad_files {

using namespace testing_io;

constexpr Coord extents{4, 2, 2, 4};

struct Case {
  const char* name;
  GaugeFormat format;
  int bits;
};
const Case cases[] = {{"ildg", GaugeFormat::ildg, 64},   {"scidac", GaugeFormat::scidac, 32},
                      {"nersc", GaugeFormat::nersc, 32}, {"two_row", GaugeFormat::nersc_two_row, 64},
                      {"milc", GaugeFormat::milc, 32},   {"openqcd", GaugeFormat::openqcd, 64}};

std::string good_file(const Case& c) {
  const TemporaryPath path(std::string("good_") + c.name);
  WriteOptions options;
  options.precision_bits = c.bits;
  write_gauge_field(path.str(), random_field(lattice_of_one(extents)), c.format, options);
  return file_bytes(path.str());
}

FileReport read_bytes(const std::string& bytes, const ReadOptions& options = {}) {
  const auto file = io::memory_input("bytes", bytes.data(), bytes.size());
  static const LatticePtr lattice = lattice_of_one(extents);
  GaugeField U(lattice);
  return read_gauge_field(*file, U, options);
}

class BadFiles : public ::testing::TestWithParam<Case> {};

/// Returns where the file may end with nothing but warnings of a missing checksum or of a last record that is
/// not padded: this is after a whole LIME record that follows the data.
std::vector<size_t> ends_of_records(const std::string& bytes) {
  std::vector<size_t> ends;
  std::vector<std::string> warnings;
  const auto file = io::memory_input("bytes", bytes.data(), bytes.size());
  bool has_data = false;
  for (const io::LimeRecord& record : io::scan_lime(*file, warnings)) {
    has_data = has_data || record.type.find("binary-data") != std::string::npos;
    for (int64_t end = record.bytes; has_data && end <= (record.bytes + 7) / 8 * 8; ++end)
      ends.push_back(size_t(record.offset + end));
  }
  return ends;
}

TEST_P(BadFiles, TruncatedAnywhereThrowFileError) {
  const std::string bytes = good_file(GetParam());
  const bool is_lime = GetParam().format == GaugeFormat::ildg || GetParam().format == GaugeFormat::scidac;
  const std::vector<size_t> ends = is_lime ? ends_of_records(bytes) : std::vector<size_t>{bytes.size()};
  for (size_t length = 0; length < bytes.size();
       length += length < 300 || length + 400 > bytes.size() ? 1 : 31) {
    if (std::find(ends.begin(), ends.end(), length) != ends.end()) {
      EXPECT_FALSE(read_bytes(bytes.substr(0, length)).warnings.empty()) << length;
      continue;
    }
    EXPECT_THROW(read_bytes(bytes.substr(0, length)), FileError) << length;
  }
  EXPECT_TRUE(read_bytes(bytes).ok());
}

TEST_P(BadFiles, WithABitFlippedInTheDataThrow) {
  const std::string bytes = good_file(GetParam());
  const size_t data = bytes.size() / 2;
  // Without a checksum (openQCD) only a bit that counts is seen, through plaquette or unitarity.
  for (const int bit : GetParam().format == GaugeFormat::openqcd ? std::vector<int>{54, 60, 62}
                                                                 : std::vector<int>{0, 1, 13, 54, 62}) {
    std::string flipped = bytes;
    const size_t start = GetParam().format == GaugeFormat::openqcd ? (data - 24) / 8 * 8 + 24 : data;
    flipped[start + size_t(bit) / 8] = char(flipped[start + size_t(bit) / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(read_bytes(flipped), FileError) << bit;
    ReadOptions options;
    options.report_only = true;
    EXPECT_FALSE(read_bytes(flipped, options).ok()) << bit;
  }
}

/// Bits all over the header are flipped: Trellis throws an error on purpose, or the header's text does not
/// matter.
TEST_P(BadFiles, WithABitFlippedInTheHeaderNeverCrash) {
  const std::string bytes = good_file(GetParam());
  int refused = 0;
  for (size_t bit = 0; bit < 8 * std::min<size_t>(bytes.size(), 2500); bit += 7) {
    std::string flipped = bytes;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << (bit % 8)));
    try {
      read_bytes(flipped);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

TEST_P(BadFiles, OfAnotherLatticeOrWithBytesAfterTheEndThrow) {
  const std::string bytes = good_file(GetParam());
  const auto file = io::memory_input("bytes", bytes.data(), bytes.size());
  GaugeField other(lattice_of_one({2, 4, 2, 4}));
  EXPECT_THROW(read_gauge_field(*file, other), FileError);
  const GaugeFormat format = GetParam().format;
  for (const std::string& rest : {std::string("x"), std::string(200, '\0')}) {
    if (format == GaugeFormat::milc || format == GaugeFormat::openqcd) {
      EXPECT_THROW(read_bytes(bytes + rest), FileError);
      continue;
    }
    const FileReport report = read_bytes(bytes + rest);
    EXPECT_TRUE(report.ok());
    ASSERT_EQ(report.warnings.size(), 1u);
    EXPECT_NE(report.warnings[0].find("passed over"), std::string::npos) << report.warnings[0];
    EXPECT_THROW(read_bytes(bytes.substr(0, bytes.size() / 2) + rest), FileError);
  }
}

TEST_P(BadFiles, InTheOtherByteOrderThrow) {
  std::string bytes = good_file(GetParam());
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    std::swap(bytes[i], bytes[i + 3]);
    std::swap(bytes[i + 1], bytes[i + 2]);
  }
  // All of a MILC file swapped is a good MILC file, apart from the characters of its time stamp.
  if (GetParam().format == GaugeFormat::milc)
    EXPECT_TRUE(read_bytes(bytes).ok());
  else
    EXPECT_THROW(read_bytes(bytes), FileError);
}

INSTANTIATE_TEST_SUITE_P(Formats, BadFiles, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BadFiles, ThatAreNoGaugeFieldsThrow) {
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string("abc"), std::string(1000, '\0'),
        std::string("BEGIN_HEADER\n"), std::string("BEGIN_HEADER\nDATATYPE = 4D_SU3_GAUGE\nEND_HEADER\n"),
        std::string("1 2 3\n"), std::string("\x45\x67\x89\xab"), std::string("# a text\n")})
    EXPECT_THROW(read_bytes(bytes), FileError) << bytes.substr(0, 20);
  EXPECT_THROW(probe_gauge_file("/nowhere/at/all"), FileError);
  EXPECT_THROW(probe_gauge_file("/tmp"), FileError);
  EXPECT_THROW(probe_gauge_file("/dev/null"), FileError);
}

/// The error of an unknown file says what was expected, the first bytes, and what they may be.
TEST(BadFiles, OfOtherKindsAreNamed) {
  const std::string openqcd = good_file({"openqcd", GaugeFormat::openqcd, 64});
  const struct {
    std::string bytes, said;
  } others[] = {{"\x89HDF\r\n\x1a\n and more", "0x89484446, an HDF5 file"},
                {"\x1f\x8b\x08 and more", "0x1f8b0820, compressed by gzip"},
                {"<?xml version=\"1.0\"?>", "an XML text"},
                {"A letter,\r\nof two lines", "a text that begins with 'A letter,'"},
                {openqcd.substr(0, openqcd.size() - 8), "is truncated: openQCD's header says 4x2x2x4"},
                {openqcd.substr(0, 24), "is truncated: openQCD's header says 4x2x2x4"},
                {openqcd + "x", "as an openQCD file it would have 36888 bytes"},
                {std::string(64, '\3'), "found 64 bytes that begin with 0x03030303"}};
  for (const auto& other : others) {
    try {
      read_bytes(other.bytes);
      ADD_FAILURE() << "read a file of another kind";
    } catch (const FileError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(other.said), std::string::npos) << text;
      EXPECT_NE(text.find("truncated") == std::string::npos,
                text.find("expected ILDG or SciDAC (LIME), NERSC, MILC") == std::string::npos)
          << text;
    }
  }
}

TEST(BadFiles, WithAnotherFirstLineThrow) {
  std::string bytes = good_file({"nersc", GaugeFormat::nersc, 64});
  bytes[5] = '\x7f';  // this breaks BEGIN_HEADER
  try {
    read_bytes(bytes);
    ADD_FAILURE() << "read a header without its first line";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("expected a first line BEGIN_HEADER"), std::string::npos);
  }
}

/// Sizes that a header claims are compared with the file before memory is taken.
TEST(BadFiles, ThatClaimTooMuchThrow) {
  std::string bytes = good_file({"nersc", GaugeFormat::nersc, 64});
  const size_t at = bytes.find("DIMENSION_4 = 4");
  bytes.replace(at, 15, "DIMENSION_4 = 9999998");
  EXPECT_THROW(read_bytes(bytes), FileError);
  bytes.replace(at, 21, "DIMENSION_4 = 99999999999999999999999");
  EXPECT_THROW(read_bytes(bytes), FileError);
  std::string lime = good_file({"ildg", GaugeFormat::ildg, 64});
  for (size_t i = 8; i < 16; ++i) {
    std::string longer = lime;
    longer[i] = char(0xff);
    EXPECT_THROW(read_bytes(longer), FileError) << i;
  }
}

// LIME files come as they occur: with unknown records, no XML, or single records.

struct Record {
  std::string type, data;
};

std::string lime_file(const std::vector<Record>& records) {
  const TemporaryPath path("lime");
  SingleCommunicator communicator;
  const auto file = io::create_output(path.str(), communicator);
  io::LimeWriter writer(*file);
  for (const Record& r : records) writer.write(r.type, r.data, true, true);
  file->commit(writer.end());
  return file_bytes(path.str());
}

std::vector<Record> records_of(const std::string& bytes) {
  std::vector<std::string> warnings;
  const auto file = io::memory_input("bytes", bytes.data(), bytes.size());
  std::vector<Record> records;
  for (const io::LimeRecord& r : io::scan_lime(*file, warnings))
    records.push_back({r.type, bytes.substr(size_t(r.offset), size_t(r.bytes))});
  return records;
}

std::vector<Record> without(std::vector<Record> records, const std::string& part_of_type) {
  std::erase_if(records, [&](const Record& r) { return r.type.find(part_of_type) != std::string::npos; });
  return records;
}

TEST(LimeFiles, MayLackRecordsAndHaveOthers) {
  const std::vector<Record> all = records_of(good_file(cases[0]));
  EXPECT_TRUE(read_bytes(lime_file(without(all, "xml"))).ok());
  const FileReport no_checksum = read_bytes(lime_file(without(all, "checksum")));
  EXPECT_EQ(no_checksum.checksums.at(0).stored, std::nullopt);
  EXPECT_EQ(no_checksum.checksums.at(0).ok(), std::nullopt);
  EXPECT_NE(no_checksum.checksums.at(0).computed, 0u);
  EXPECT_EQ(no_checksum.warnings.size(), 1u);
  EXPECT_TRUE(read_bytes(lime_file(without(all, "ildg-format"))).ok());
  std::vector<Record> more = all;
  more.insert(more.begin(), {"some-unknown-record", std::string("\0\1\2 binary", 10)});
  more.push_back({"", ""});
  more.back().type = "another";
  EXPECT_TRUE(read_bytes(lime_file(more)).ok());
  std::vector<Record> last_first = all;
  std::reverse(last_first.begin(), last_first.end());
  EXPECT_TRUE(read_bytes(lime_file(last_first)).ok());
  EXPECT_TRUE(read_bytes(lime_file(without(last_first, "ildg-format"))).ok());
}

TEST(LimeFiles, MayHoldOtherFieldsBeforeTheLinks) {
  const std::vector<Record> all = records_of(good_file(cases[1]));
  std::vector<Record> more;
  for (const Record& record : all) {
    if (record.type == "scidac-private-record-xml") {
      more.push_back({record.type,
                      "<scidacRecord><precision>D</precision><typesize>8</typesize>"
                      "<datacount>1</datacount></scidacRecord>"});
      more.push_back({"scidac-binary-data", std::string(64 * 8, 'x')});
      more.push_back({"scidac-checksum", "<scidacChecksum><suma>1</suma><sumb>2</sumb></scidacChecksum>"});
    }
    more.push_back(record);
  }
  const FileReport report = read_bytes(lime_file(more));
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.precision_bits, 32);
  EXPECT_EQ(report.checksums.at(0).ok(), true);
}

TEST(LimeFiles, OfTwoFieldsAreReadWithAWarning) {
  for (const Case& c : {cases[0], cases[1]}) {
    std::vector<Record> twice = records_of(good_file(c));
    const std::vector<Record> again = twice;
    twice.insert(twice.end(), again.begin(), again.end());
    const FileReport report = read_bytes(lime_file(twice));
    EXPECT_TRUE(report.ok());
    ASSERT_EQ(report.warnings.size(), 1u) << c.name;
    EXPECT_NE(report.warnings[0].find("2 records " + std::string(c.name) + "-binary-data"), std::string::npos)
        << report.warnings[0];
  }
}

TEST(LimeFiles, WithFieldsOfOtherSizesSayWhatIsNotRead) {
  for (const Case& c : {cases[0], cases[1]}) {
    const std::vector<Record> own = records_of(good_file(c));
    std::vector<Record> more = own;
    const std::string type = std::string(c.name) + "-binary-data";
    more.push_back({type, std::string(1152, 'x')});
    FileReport report = read_bytes(lime_file(more));
    EXPECT_TRUE(report.ok());
    ASSERT_EQ(report.warnings.size(), 1u) << c.name;
    const int64_t bytes = 64 * 72 * c.bits / 8;
    EXPECT_EQ(report.warnings[0],
              message("the file has further fields, which are not read: ", type,
                      " of 1152 bytes; the one that is, ", type, ", has ", bytes, " bytes"));
    for (int i = 0; i < 6; ++i) more.push_back({"scidac-binary-data", std::string(8, 'y')});
    report = read_bytes(lime_file(more));
    ASSERT_EQ(report.warnings.size(), 1u) << c.name;
    EXPECT_NE(report.warnings[0].find("scidac-binary-data of 8 bytes and 2 more;"), std::string::npos)
        << report.warnings[0];
    EXPECT_TRUE(read_bytes(lime_file(own)).warnings.empty());
  }
}

/// Without a checksum the last digits say that something happened to numbers of 64 bits.
TEST(FilesWithoutChecksums, ThatAreLessUnitaryThanTheirDigitsAreWarnedAbout) {
  std::string bytes = good_file(cases[5]);
  EXPECT_EQ(read_bytes(bytes).warnings.size(), 1u);              // the format has no checksum
  bytes[24 + 8 * 40 + 3] = char(bytes[24 + 8 * 40 + 3] ^ 0x40);  // this changes it by about 1e-7
  ReadOptions options;
  options.report_only = true;
  const FileReport report = read_bytes(bytes, options);
  ASSERT_EQ(report.warnings.size(), 2u);
  EXPECT_NE(report.warnings[1].find("64 bits that are SU(3) to"), std::string::npos) << report.warnings[1];
  EXPECT_FALSE(report.ok());
  EXPECT_THROW(read_bytes(bytes), ChecksumError);  // the plaquette has changed, too
}

TEST(NerscFiles, ThatContradictThemselvesThrow) {
  std::string bytes = good_file(cases[2]);
  const std::string key = "DIMENSION_4 = 4\n";
  const size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(read_bytes(std::string(bytes).insert(at, key)).ok());
  try {
    read_bytes(bytes.insert(at, "DIMENSION_4 = 8\n"));
    FAIL() << "two lattices";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("expected one DIMENSION_4, found 8 and 4"), std::string::npos)
        << error.what();
  }
}

TEST(LimeFiles, OfASingleRecordNeedTheLattice) {
  const std::vector<Record> all = records_of(good_file(cases[0]));
  const std::string only_data = lime_file(without(without(without(all, "xml"), "checksum"), "format"));
  ReadOptions options;
  options.lattice = extents;
  const FileReport report = read_bytes(only_data, options);
  EXPECT_EQ(report.precision_bits, 64);
  EXPECT_THROW(read_bytes(only_data), FileError);
  // A hypercube is taken for one, with a warning, in either precision.
  for (const int bits : {32, 64}) {
    const TemporaryPath path("hypercube");
    WriteOptions write;
    write.precision_bits = bits;
    write_gauge_field(path.str(), random_field(lattice_of_one({4, 4, 4, 4})), GaugeFormat::ildg, write);
    std::vector<Record> records = records_of(file_bytes(path.str()));
    write_bytes(path.str(), lime_file(without(without(without(records, "xml"), "checksum"), "format")));
    FileReport read;
    read_gauge_field(path.str(), {1, 1, 1, 1}, std::make_shared<SingleCommunicator>(), {}, &read);
    EXPECT_EQ(read.lattice, (Coord{4, 4, 4, 4}));
    EXPECT_EQ(read.precision_bits, bits);
    EXPECT_EQ(read.warnings.size(), 2u);
  }
}

/// Behind the data nothing that may have been a record is passed over.
TEST(LimeFiles, EndWithoutDamage) {
  const std::string bytes = good_file(cases[0]);
  for (const char* rest : {"\n", "hello world", "\r\n\r\n"}) {
    const FileReport report = read_bytes(bytes + rest);
    EXPECT_EQ(report.checksums.at(0).ok(), true);
    EXPECT_EQ(report.warnings.size(), 1u);
  }
  const std::string magic("\x45\x67\x89\xab", 4);
  for (const std::string& rest : {magic.substr(0, 1), magic, "x" + bytes.substr(0, 300)})
    EXPECT_THROW(read_bytes(bytes + rest), FileError);
  std::string damaged = bytes;
  damaged[bytes.rfind(magic)] ^= 1;  // it belongs to the checksum's record
  EXPECT_THROW(read_bytes(damaged), FileError);
  const std::vector<Record> all = records_of(bytes);
  EXPECT_THROW(read_bytes(lime_file(without(all, "binary-data")) + "\n"), FileError);
  std::vector<Record> more = all;
  more.push_back({"x", "12345"});
  const std::string padded = lime_file(more);
  EXPECT_TRUE(read_bytes(padded).warnings.empty());
  const FileReport report = read_bytes(padded.substr(0, padded.size() - 3));
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("'x', is not padded"), std::string::npos) << report.warnings[0];
  EXPECT_THROW(read_bytes(padded.substr(0, padded.size() - 4)), FileError);
}

/// Without a checksum bytes after the data may mean that the header is wrong.
TEST(NerscFiles, WithoutChecksumHaveTheExactSize) {
  std::string bytes = good_file(cases[2]);
  const size_t at = bytes.find("CHECKSUM");
  bytes.erase(at, bytes.find('\n', at) + 1 - at);
  EXPECT_TRUE(read_bytes(bytes).ok());
  EXPECT_THROW(read_bytes(bytes + "x"), FileError);
}

/// Returns the records with one text replaced in those of a type; all of a record's text goes where `from` is
/// empty.
std::vector<Record> with(std::vector<Record> records, const std::string& type, const std::string& from,
                         const std::string& to) {
  for (Record& r : records)
    if (r.type == type) {
      const size_t at = r.data.find(from);
      EXPECT_NE(at, std::string::npos) << type << " " << from;
      if (at != std::string::npos) r.data.replace(at, from.empty() ? r.data.size() : from.size(), to);
    }
  return records;
}

TEST(LimeFiles, WhoseRecordsAreIncompleteAreReadWithAWarning) {
  const std::vector<Record> all = records_of(good_file(cases[0]));
  const struct {
    const char *type, *from, *to, *said;
    int warnings;
  } changes[] = {
      {"ildg-format", "<precision>64</precision>", "", "has no <precision>", 1},
      {"ildg-format", "<lx>4</lx>", "", "has no <lx>; the lattice comes from scidac-private-file-xml", 1},
      {"ildg-format", "<lx>4<", "<lx>four<", "<lx> should be an integer, found 'four'", 2},
      {"ildg-format", "</lz><lt>4</lt></ildgFormat>", "", "has no <lz>, <lt>", 1},
      {"ildg-format", "", "", "ildg-format is empty", 1},
      {"scidac-private-file-xml", "4 2 2 4", "4 2 2", "<dims> should be four integers", 1},
      {"scidac-private-file-xml", "4 2 2 4", "4 2 2 4 12", "found '4 2 2 4 12'", 1},
      {"scidac-private-file-xml", "4 2 2 4", "4,2,2,4", "found '4,2,2,4'", 1},
      {"scidac-private-record-xml", "<datacount>4", "<datacount>0", "implausible typesize 144 or datacount 0",
       1},
      {"scidac-private-record-xml", "<typesize>144", "<typesize>0", "implausible typesize 0", 1},
      {"scidac-checksum", "", "", "no checksum: its scidac-checksum is empty", 1}};
  for (const auto& change : changes) {
    const FileReport report = read_bytes(lime_file(with(all, change.type, change.from, change.to)));
    EXPECT_TRUE(report.ok()) << change.from << " to " << change.to;
    EXPECT_EQ(report.warnings.size(), size_t(change.warnings)) << change.from << " to " << change.to;
    std::string text;
    for (const std::string& warning : report.warnings) text += warning + "\n";
    EXPECT_NE(text.find(change.said), std::string::npos) << text;
  }
}

/// A file has ildg-format alone: extents come from the caller, a single one and the precision from the size
/// of the data; what is there has to agree.
TEST(LimeFiles, WhoseFormatIsIncompleteAreCompletedByLatticeAndSize) {
  const std::vector<Record> all = without(records_of(good_file(cases[0])), "scidac");
  const auto probe = [](const std::vector<Record>& records, std::optional<Coord> lattice) {
    const std::string bytes = lime_file(records);
    ReadOptions options;
    options.lattice = lattice;
    return probe_gauge_file(*io::memory_input("bytes", bytes.data(), bytes.size()), options);
  };
  EXPECT_EQ(probe(all, {}).warnings.size(), 1u);  // there is no checksum
  for (const auto& records :
       {with(all, "ildg-format", "<lx>4</lx>", ""), with(all, "ildg-format", "<lt>4<", "<lt>?<")}) {
    EXPECT_EQ(probe(records, {}).lattice, extents);
    EXPECT_EQ(probe(records, extents).lattice, extents);
    EXPECT_GE(probe(records, {}).warnings.size(), 2u);
  }
  const auto two_left = with(all, "ildg-format", "</lz><lt>4</lt>", ""),
             empty = with(all, "ildg-format", "", "");
  for (const auto& records : {two_left, empty}) {
    EXPECT_THROW(probe(records, {}), FileError);  // 64 sites are no hypercube
    EXPECT_EQ(probe(records, extents).lattice, extents);
    EXPECT_EQ(probe(records, extents).precision_bits, 64);
  }
  EXPECT_EQ(probe(empty, Coord{2, 4, 4, 2}).lattice, (Coord{2, 4, 4, 2}));
  EXPECT_THROW(probe(two_left, Coord{2, 4, 4, 2}), FileError);
}

TEST(LimeFiles, MisheadedThrow) {
  const std::vector<Record> all = records_of(good_file(cases[0]));
  const struct {
    const char *type, *from, *to;
  } changes[] = {{"ildg-format", "<lx>4<", "<lx>2<"},
                 {"ildg-format", "<lx>4<", "<lx>3<"},
                 {"ildg-format", "<lx>4<", "<lx>-4<"},
                 {"ildg-format", ">64<", ">32<"},
                 {"ildg-format", ">64<", ">16<"},
                 {"ildg-format", "su3gauge", "su2gauge"},
                 {"scidac-private-file-xml", "4 2 2 4", "4 4 4 4"},
                 {"scidac-private-file-xml", "<volfmt>0", "<volfmt>1"},
                 {"scidac-private-record-xml", "<datacount>4", "<datacount>1"},
                 {"scidac-checksum", "<suma>", "<suma>zz"},
                 {"scidac-checksum", "suma", "summ"}};
  for (const auto& change : changes)
    EXPECT_THROW(read_bytes(lime_file(with(all, change.type, change.from, change.to))), FileError)
        << change.from << " to " << change.to;
}

TEST(Xml, ValuesAreFoundTolerantly) {
  EXPECT_EQ(io::xml_value("<a><lx> 4 </lx></a>", "lx"), "4");
  EXPECT_EQ(io::xml_value("<i:lx unit=\"1\">\n4\n</i:lx>", "lx"), "4");
  EXPECT_EQ(io::xml_value("<lx></lx>", "lx"), "");
  EXPECT_EQ(io::xml_value("<lx></ly></lx>", "lx"), "</ly>");
  EXPECT_EQ(io::xml_value("<lx>4", "lx"), std::nullopt);
  EXPECT_EQ(io::xml_value("<lx/>", "lx"), std::nullopt);
  EXPECT_EQ(io::xml_value("<lxy>4</lxy>", "lx"), std::nullopt);
  EXPECT_EQ(io::xml_value("", "lx"), std::nullopt);
  EXPECT_EQ(io::xml_value(std::string(100000, '<'), "lx"), std::nullopt);
  EXPECT_EQ(io::xml_value("<!-- <lx>9</lx> --><lx>4</lx>", "lx"), "4");
  EXPECT_EQ(io::xml_value("<!-- <lx>9</lx>", "lx"), std::nullopt);
  EXPECT_EQ(io::xml_integer("<lx>+4</lx>", "lx", "file"), 4);
  EXPECT_THROW(io::xml_integer("<lx>+-4</lx>", "lx", "file"), FileError);
  EXPECT_THROW(io::xml_integer("<lx>+</lx>", "lx", "file"), FileError);
  EXPECT_THROW(io::xml_integer("<lx>4.5</lx>", "lx", "file"), FileError);
}

// The next tests cover writing.

TEST(FailedWrites, NameAFullDisk) {
  const TemporaryPath path("full_disk");
  write_bytes(path.str(), "old");
  // The partial file leads to a device that is always full.
  ASSERT_EQ(::symlink("/dev/full", (path.str() + ".partial").c_str()), 0);
  try {
    write_gauge_field(path.str(), GaugeField(lattice_of_one(extents)), GaugeFormat::ildg);
    ADD_FAILURE() << "wrote to a full disk";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(path.str()), std::string::npos) << error.what();
  }
  EXPECT_EQ(file_bytes(path.str()), "old");
  EXPECT_FALSE(exists(path.str() + ".partial"));
}

/// A rename would turn a device into a file.
TEST(FailedWrites, ReplaceNoPipesAndFolders) {
  const TemporaryPath pipe("pipe"), folder("folder"), link("link");
  ASSERT_EQ(::mkfifo(pipe.str().c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(folder.str().c_str(), 0700), 0);
  ASSERT_EQ(::symlink(pipe.str().c_str(), link.str().c_str()), 0);
  for (const std::string& path : {pipe.str(), folder.str(), link.str()}) {
    try {
      write_gauge_field(path, GaugeField(lattice_of_one(extents)), GaugeFormat::ildg);
      ADD_FAILURE() << "wrote " << path;
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("only a regular file is replaced"), std::string::npos);
    }
    EXPECT_THROW(hdf5::File::create(path, std::make_shared<SingleCommunicator>()), FileError);
    EXPECT_NE(::access((path + ".partial").c_str(), F_OK), 0);
  }
  struct stat status;
  EXPECT_TRUE(::stat(pipe.str().c_str(), &status) == 0 && S_ISFIFO(status.st_mode));
  EXPECT_TRUE(::lstat(link.str().c_str(), &status) == 0 && S_ISLNK(status.st_mode));
  ::rmdir(folder.str().c_str());
}

TEST(Writes, GoThroughSymbolicLinks) {
  const TemporaryPath file("link_target"), link("link_to_file"), circle("link_circle");
  write_bytes(file.str(), "old");
  ASSERT_EQ(::symlink(file.str().c_str(), link.str().c_str()), 0);
  struct stat status;
  write_gauge_field(link.str(), GaugeField(lattice_of_one(extents)), GaugeFormat::ildg);
  EXPECT_TRUE(::lstat(link.str().c_str(), &status) == 0 && S_ISLNK(status.st_mode));
  EXPECT_GT(file_bytes(file.str()).size(), 1000u);
  // The file is not there yet.
  ASSERT_EQ(::unlink(file.str().c_str()), 0);
  hdf5::File::create(link.str(), std::make_shared<SingleCommunicator>()).commit();
  EXPECT_TRUE(::lstat(link.str().c_str(), &status) == 0 && S_ISLNK(status.st_mode));
  EXPECT_TRUE(::lstat(file.str().c_str(), &status) == 0 && S_ISREG(status.st_mode));
  ASSERT_EQ(::symlink(circle.str().c_str(), circle.str().c_str()), 0);
  EXPECT_THROW(hdf5::File::create(circle.str(), std::make_shared<SingleCommunicator>()), FileError);
}

TEST(FailedWrites, InTheMiddleKeepTheOldFile) {
  std::signal(SIGXFSZ, SIG_IGN);
  for (const Case& c : cases) {
    const TemporaryPath path(std::string("limit_") + c.name);
    write_bytes(path.str(), "old");
    rlimit old_limit;
    getrlimit(RLIMIT_FSIZE, &old_limit);
    const rlimit limit{8192, old_limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_THROW(write_gauge_field(path.str(), GaugeField(lattice_of_one(extents)), c.format), FileError)
        << c.name;
    setrlimit(RLIMIT_FSIZE, &old_limit);
    EXPECT_EQ(file_bytes(path.str()), "old");
    EXPECT_FALSE(exists(path.str() + ".partial"));
  }
  EXPECT_THROW(write_gauge_field("/nowhere/at/all", GaugeField(lattice_of_one(extents)), GaugeFormat::ildg),
               FileError);
}

TEST(FailedWrites, KilledKeepTheOldFile) {
  const TemporaryPath path("killed");
  write_bytes(path.str(), "old");
  const pid_t child = ::fork();
  if (child == 0) {
    SingleCommunicator communicator;
    const auto file = io::create_output(path.str(), communicator);
    file->write_text(0, std::string(100000, 'x'));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(file_bytes(path.str()), "old");
  // The next write is not disturbed by what the killed one left.
  write_gauge_field(path.str(), GaugeField(lattice_of_one(extents)), GaugeFormat::ildg);
  EXPECT_EQ(probe_gauge_file(path.str(), {}, std::make_shared<SingleCommunicator>()).lattice, extents);
}

TEST(FailedWrites, OfFieldsWithNan) {
  GaugeField U(lattice_of_one(extents));
  Link link = U.link({0, 0, 0, 0}, 0);
  link[4] = std::nan("");
  U.set_link({0, 0, 0, 0}, 0, link);
  const TemporaryPath path("nan");
  EXPECT_THROW(write_gauge_field(path.str(), U, GaugeFormat::ildg), NumericError);
  EXPECT_FALSE(exists(path.str()));
}

}  // namespace in_test_io_bad_files
}  // namespace trellis
