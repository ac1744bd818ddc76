/// Files do not depend on the number of ranks or their grid; errors are thrown by all ranks together.
// ranks: 1 2 3 4 8
// sanitize: 1
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/gauge_file.hpp"
#include "trellis/io/lime.hpp"
#include "trellis/io/reals.hpp"

namespace trellis {
namespace in_test_io_parallel_files {

using namespace testing_io;

constexpr Coord extents{4, 4, 12, 8};

struct Case {
  const char* name;
  GaugeFormat format;
  int bits;
  bool is_little;
};
const Case cases[] = {
    {"ildg64", GaugeFormat::ildg, 64, false},          {"ildg32", GaugeFormat::ildg, 32, false},
    {"scidac64", GaugeFormat::scidac, 64, false},      {"nersc64", GaugeFormat::nersc, 64, true},
    {"nersc2", GaugeFormat::nersc_two_row, 32, false}, {"milc", GaugeFormat::milc, 32, true},
    {"openqcd", GaugeFormat::openqcd, 64, false}};

class ParallelFiles : public ::testing::TestWithParam<Case> {};

TEST_P(ParallelFiles, AreTheSameForEveryGrid) {
  const Case& c = GetParam();
  WriteOptions options;
  options.precision_bits = c.bits;
  options.is_little_endian = c.is_little;
  options.logical_file_name = "lfn://test";
  const std::string path = common_name(std::string("parallel_") + c.name), alone = path + "_alone";
  if (world()->rank() == 0)
    write_gauge_field(alone, random_field(lattice_of_one(extents)), c.format, options);
  world()->barrier();
  int grids = 0;
  for (const Coord& grid : legal_process_grids(extents, world()->size())) {
    if (++grids > 5) break;
    const LatticePtr lattice = make_lattice(extents, grid);
    const GaugeField U = random_field(lattice);
    write_gauge_field(path, U, c.format, options);
    world()->barrier();
    EXPECT_TRUE(file_bytes(path) == file_bytes(alone)) << to_string(grid);
    GaugeField V(lattice);
    const FileReport report = read_gauge_field(path, V);
    EXPECT_TRUE(report.ok());
    std::vector<double> expected = canonical(U);
    if (c.bits == 32)
      for (double& x : expected) x = double(float(x));
    const std::vector<double> found = canonical(V);
    const double tolerance = c.format == GaugeFormat::nersc_two_row ? 3e-7 : 0.0;
    double largest = 0.0;
    for (size_t i = 0; i < found.size(); ++i) largest = std::max(largest, std::abs(found[i] - expected[i]));
    EXPECT_LE(largest, tolerance) << to_string(grid);
    world()->barrier();
  }
  EXPECT_GT(grids, 0);
  if (world()->rank() == 0) {
    std::remove(path.c_str());
    std::remove(alone.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ParallelFiles, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ParallelFiles, ThrowTogether) {
  const std::string path = common_name("bad");
  EXPECT_THROW(probe_gauge_file(path), FileError);  // the file is missing
  const LatticePtr lattice = make_lattice(extents);
  write_gauge_field(path, random_field(lattice), GaugeFormat::ildg);
  world()->barrier();
  const std::string bytes = file_bytes(path);
  world()->barrier();
  if (world()->rank() == 0) write_bytes(path, bytes.substr(0, bytes.size() / 2));
  world()->barrier();
  GaugeField U(lattice);
  EXPECT_THROW(read_gauge_field(path, U), FileError);
  world()->barrier();
  if (world()->rank() == 0) {
    std::string flipped = bytes;
    flipped[bytes.size() / 2] = char(flipped[bytes.size() / 2] ^ 1);
    write_bytes(path, flipped);
  }
  world()->barrier();
  EXPECT_THROW(read_gauge_field(path, U), ChecksumError);
  world()->barrier();
  if (world()->rank() == 0) std::remove(path.c_str());
}

/// Each rank writes and reads a piece beyond 4 GiB; the file has holes, so it is small on the disk. A link
/// that is not SU(3) belongs to one rank; all name it.
TEST(ParallelFiles, NameABadLinkTogether) {
  const std::string path = common_name("parallel_bad_link");
  if (world()->rank() == 0) {
    write_gauge_field(path, random_field(lattice_of_one(extents)), GaugeFormat::scidac);
    std::string bytes = file_bytes(path);
    bytes.resize(bytes.rfind("\x45\x67\x89\xab"));  // the checksum, which would say it, too, is cut off
    const size_t data = bytes.find("scidac-binary-data") - 16 + size_t(io::lime_header_bytes);
    for (const Coord& x : {Coord{3, 2, 11, 7}, Coord{1, 3, 5, 7}}) {
      const size_t at = data + size_t(site_index(x, extents)) * 576 + 2 * 144 + 3 * 16;
      io::store_f64(reinterpret_cast<std::byte*>(bytes.data()) + at, 0.75, io::ByteOrder::big);
    }
    write_bytes(path, bytes);
  }
  world()->barrier();
  GaugeField U(make_lattice(extents));
  try {
    read_gauge_field(path, U);
    ADD_FAILURE() << "read a bad link";
  } catch (const FileError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("2 of 6144 links are not SU(3); the first, U_z(x=1, y=3, z=5, t=7)"),
              std::string::npos)
        << text;
  }
  world()->barrier();
  if (world()->rank() == 0) std::remove(path.c_str());
}

TEST(ParallelFiles, HaveOffsetsOf64Bits) {
  const std::string path = common_name("sparse");
  const int64_t far = (int64_t(5) << 30) + 3;
  const int64_t offset = far + int64_t(world()->rank()) * 1000000007;
  const std::string mine = "rank " + std::to_string(world()->rank());
  const auto pieces = std::vector<io::Piece>{{offset, int64_t(mine.size())}};
  const int64_t end = far + int64_t(world()->size() - 1) * 1000000007 + 6;
  {
    const auto file = io::create_output(path, *world());
    file->write_pieces(pieces, mine.data());
    file->commit(end);
  }
  const auto file = io::open_input(path, *world());
  EXPECT_EQ(file->size(), end);
  std::string found(mine.size(), ' ');
  file->read_pieces(pieces, found.data());
  EXPECT_EQ(found, mine);
  EXPECT_EQ(file->read_text(far, 6), "rank 0");
  EXPECT_THROW(file->read_text(end, 1), FileError);
  world()->barrier();
  if (world()->rank() == 0) std::remove(path.c_str());
}

TEST(ParallelFiles, AreNotWrittenWithLinksThatOneRankHasWrong) {
  const std::string path = common_name("wrong");
  GaugeField U = random_field(make_lattice(extents));
  const Geometry& geometry = U.geometry();
  if (geometry.to_global({0, 0, 0, 0}) == Coord{0, 0, 0, 0}) {
    U.set_link({1, 0, 0, 0}, 2, Link{});
    U.set_link({0, 1, 0, 0}, 0, Link{});
  }
  std::string error;
  try {
    write_gauge_field(path, U, GaugeFormat::ildg);
  } catch (const NumericError& found) {
    error = found.what();
  }
  EXPECT_NE(error.find("2 of 6144 links are not SU(3); the first, U_z(x=1, y=0, z=0, t=0), is 1 away"),
            std::string::npos)
      << error;
  world()->barrier();
  EXPECT_FALSE(exists(path));
}

TEST(ParallelFiles, KeepTheOldFileWhenTheDiskIsFull) {
  const std::string path = common_name("full");
  const LatticePtr lattice = make_lattice(extents);
  write_gauge_field(path, GaugeField(lattice), GaugeFormat::ildg);
  world()->barrier();
  const std::string before = file_bytes(path);
  // A limit on the size of files fails as a full disk does, in the middle of the data.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit;
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{300000, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THROW(write_gauge_field(path, random_field(lattice), GaugeFormat::ildg), FileError);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  world()->barrier();
  EXPECT_TRUE(file_bytes(path) == before);
  EXPECT_FALSE(exists(path + ".partial"));
  world()->barrier();
  if (world()->rank() == 0) std::remove(path.c_str());
}

}  // namespace in_test_io_parallel_files
}  // namespace trellis
