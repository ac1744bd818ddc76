/// HDF5 files and site fields written by many ranks hold what one rank would write.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/hdf5.hpp"
#include "trellis/io/site_field_file.hpp"

namespace trellis {
namespace in_test_io_parallel_hdf5 {

using namespace testing_io;
using Complex = std::complex<double>;

constexpr Coord extents{4, 4, 4, 8};

void remove_together(const std::string& path) {
  world()->barrier();
  if (world()->rank() == 0) std::remove(path.c_str());
}

/// Makes a number for each global site and each of its components.
std::vector<Complex> field_of(const Geometry& geometry, int components) {
  std::vector<Complex> field;
  for (int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int k = 0; k < components; ++k)
      field.push_back(
          {1.0 / double(geometry.global_index(site_coord(site, geometry.local())) + 1), double(k)});
  return field;
}

TEST(ParallelHdf5, HoldsTheSameOnAnyGrid) {
  const std::string path = common_name("parallel.h5");
  int grids = 0;
  for (const Coord& grid : legal_process_grids(extents, world()->size())) {
    if (++grids > 4) break;
    const LatticePtr lattice = make_lattice(extents, grid);
    const auto local = field_of(lattice->geometry(), 3);
    const std::string text(100000, 'x');
    {
      hdf5::File file = hdf5::File::create(path);
      hdf5::Group group = file.root().make_group("a/b");
      group.write_sites("field", lattice->geometry(), local.data(), {3});
      group.write("correlator", world()->rank() == 0 ? std::vector<double>{1, 2, 3}.data() : nullptr, {3});
      group.set_attribute("text", text);
      group.set_attribute("lattice", std::vector<int64_t>{4, 4, 4, 8});
      file.commit();
    }
    const hdf5::File file = hdf5::File::open(path);
    const hdf5::Group group = file.root().group("a/b");
    EXPECT_EQ(group.read<Complex>("field"), field_of(Geometry(extents), 3)) << to_string(grid);
    std::vector<Complex> found(local.size());
    group.read_sites("field", lattice->geometry(), found.data(), {3});
    EXPECT_EQ(found, local);
    EXPECT_EQ(group.read<double>("correlator"), (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(group.text_attribute("text"), text);
    EXPECT_THROW(group.read<double>("missing"), FileError);
  }
  EXPECT_GT(grids, 0);
  EXPECT_THROW(hdf5::File::open(path + ".missing"), FileError);
  remove_together(path);
}

TEST(ParallelSiteFields, HaveTheSameBytesOnAnyGrid) {
  const std::string path = common_name("site_field"), alone = path + "_alone";
  if (world()->rank() == 0) {
    const LatticePtr lattice = lattice_of_one(extents);
    write_site_field(alone, *lattice,
                     reinterpret_cast<const double*>(field_of(lattice->geometry(), 12).data()), 24);
  }
  world()->barrier();
  int grids = 0;
  for (const Coord& grid : legal_process_grids(extents, world()->size())) {
    if (++grids > 4) break;
    const LatticePtr lattice = make_lattice(extents, grid);
    const auto local = field_of(lattice->geometry(), 12);
    write_site_field(path, *lattice, reinterpret_cast<const double*>(local.data()), 24);
    EXPECT_TRUE(file_bytes(path) == file_bytes(alone)) << to_string(grid);
    std::vector<Complex> found(local.size());
    const auto report = read_site_field(path, *lattice, reinterpret_cast<double*>(found.data()), 24);
    EXPECT_EQ(report.checksums.at(0).ok(), true);
    EXPECT_EQ(found, local);
    world()->barrier();
  }
  remove_together(path);
  remove_together(alone);
}

TEST(ParallelHdf5, AFullDiskThrowsOnAllRanks) {
  const std::string path = common_name("parallel_full.h5");
  const LatticePtr lattice = make_lattice(extents);
  if (world()->rank() == 0) write_bytes(path, "old");
  world()->barrier();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit;
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{100000, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const auto local = field_of(lattice->geometry(), 144);
  EXPECT_THROW(
      {
        hdf5::File file = hdf5::File::create(path);
        file.root().write_sites("field", lattice->geometry(), local.data(), {144});
        file.commit();
      },
      FileError);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  EXPECT_EQ(file_bytes(path), "old");
  remove_together(path);
}

}  // namespace in_test_io_parallel_hdf5
}  // namespace trellis
