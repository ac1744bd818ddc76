/// These tests cover HDF5 arrays, groups and attributes, files that are not HDF5, and failed writes.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/hdf5.hpp"

namespace trellis {
namespace in_test_io_hdf5 {

using namespace testing_io;
using Complex = std::complex<double>;

CommunicatorPtr one() { return std::make_shared<SingleCommunicator>(); }

TEST(Hdf5, GivesBackArrays) {
  const TemporaryPath path("arrays.h5");
  const std::vector<double> reals{1.5, -2.25, 1e-300, 4, 5, 6};
  const std::vector<Complex> numbers{{1, 2}, {3, -4}};
  const std::vector<int64_t> integers{1, -9000000000000000000, 3};
  {
    hdf5::File file = hdf5::File::create(path.str(), one());
    hdf5::Group root = file.root();
    root.write("reals", reals.data(), {2, 3});
    root.make_group("a/b").write("numbers", numbers);
    root.write("a/integers", integers);
    root.write("a/singles", std::vector<float>{0.1f, 2.f});
    root.write("a/complex64", std::vector<std::complex<float>>{{1.f, 2.f}});
    root.write("empty", std::vector<double>{});
    const double scalar = 7.0;
    root.write("scalar", &scalar, {});
    EXPECT_THROW(root.write("reals", reals), FileError);  // it is there already
    file.commit();
  }
  EXPECT_FALSE(exists(path.str() + ".partial"));
  const hdf5::File file = hdf5::File::open(path.str(), one());
  const hdf5::Group root = file.root();
  EXPECT_EQ(root.dims("reals"), (hdf5::Dims{2, 3}));
  EXPECT_EQ(root.read<double>("reals"), reals);
  EXPECT_EQ(root.group("a").group("b").read<Complex>("numbers"), numbers);
  EXPECT_EQ(root.group("a/b").read<std::complex<float>>("numbers").at(1), std::complex<float>(3.f, -4.f));
  EXPECT_EQ(root.read<int64_t>("a/integers"), integers);
  EXPECT_EQ(root.read<double>("a/singles"), (std::vector<double>{double(0.1f), 2.0}));
  EXPECT_EQ(root.read<Complex>("a/complex64"), (std::vector<Complex>{{1, 2}}));
  EXPECT_TRUE(root.read<double>("empty").empty());
  EXPECT_EQ(root.read<double>("scalar"), std::vector<double>{7.0});
  EXPECT_EQ(root.names(), (std::vector<std::string>{"a", "empty", "reals", "scalar"}));
  EXPECT_TRUE(root.has("a/b/numbers"));
  EXPECT_FALSE(root.has("a/c/numbers"));
  EXPECT_THROW(root.read<double>("missing"), FileError);
  EXPECT_THROW(root.group("missing"), FileError);
  EXPECT_THROW(root.read<double>("a/b/numbers"), FileError);  // complex is not real
  EXPECT_THROW(root.read<Complex>("reals"), FileError);
}

TEST(Hdf5, GivesBackAttributes) {
  const TemporaryPath path("attributes.h5");
  const std::string text = "κ = 0.13\nsecond line", long_text(300000, 'x');
  {
    hdf5::File file = hdf5::File::create(path.str(), one());
    hdf5::Group group = file.root().make_group("group");
    group.write("array", std::vector<double>{1.0});
    group.set_attribute("text", text);
    group.set_attribute("text", "replaced");
    group.set_attribute("text", text);
    group.set_attribute("long", long_text, "array");
    group.set_attribute("mass", 0.1, "array");
    group.set_attribute("seed", int64_t(1) << 62);
    group.set_attribute("reals", std::vector<double>{1.0, 2.0});
    group.set_attribute("none", std::vector<double>{});
    group.set_attribute("lattice", std::vector<int64_t>{8, 8, 8, 16});
    file.root().set_attribute("version", "1");
    EXPECT_THROW(group.set_attribute("x", 1.0, "missing"), FileError);
    file.commit();
  }
  const hdf5::File file = hdf5::File::open(path.str(), one());
  const hdf5::Group group = file.root().group("group");
  EXPECT_EQ(group.text_attribute("text"), text);
  EXPECT_EQ(group.text_attribute("long", "array"), long_text);
  EXPECT_EQ(group.real_attribute("mass", "array"), std::vector<double>{0.1});
  EXPECT_EQ(group.integer_attribute("seed"), std::vector<int64_t>{int64_t(1) << 62});
  EXPECT_EQ(group.real_attribute("reals"), (std::vector<double>{1.0, 2.0}));
  EXPECT_TRUE(group.real_attribute("none").empty());
  EXPECT_EQ(group.integer_attribute("lattice"), (std::vector<int64_t>{8, 8, 8, 16}));
  EXPECT_EQ(file.root().text_attribute("version"), "1");
  EXPECT_FALSE(group.has_attribute("missing"));
  EXPECT_THROW(group.text_attribute("missing"), FileError);
  EXPECT_THROW(group.text_attribute("seed"), FileError);
  EXPECT_THROW(group.real_attribute("text"), FileError);
}

TEST(Hdf5, EqualContentsGiveEqualFiles) {
  const TemporaryPath a("equal_a.h5"), b("equal_b.h5");
  for (const TemporaryPath* path : {&a, &b}) {
    hdf5::File file = hdf5::File::create(path->str(), one());
    file.root().make_group("group").write("array", std::vector<double>{1.0, 2.0});
    file.root().set_attribute("text", "note");
    file.commit();
  }
  EXPECT_TRUE(file_bytes(a.str()) == file_bytes(b.str()));
}

TEST(Hdf5, WithoutCommitKeepsTheOldFile) {
  const TemporaryPath path("kept.h5");
  write_bytes(path.str(), "old");
  {
    hdf5::File file = hdf5::File::create(path.str(), one());
    file.root().write("array", std::vector<double>(1000, 1.0));
  }
  EXPECT_EQ(file_bytes(path.str()), "old");
  EXPECT_FALSE(exists(path.str() + ".partial"));
  EXPECT_THROW(hdf5::File::create("/nowhere/at/all.h5", one()), FileError);
}

TEST(Hdf5, AFullDiskThrowsAndKeepsTheOldFile) {
  const TemporaryPath path("full.h5");
  write_bytes(path.str(), "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit;
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{100000, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THROW(
      {
        hdf5::File file = hdf5::File::create(path.str(), one());
        file.root().write("array", std::vector<double>(100000, 1.0));
        file.commit();
      },
      FileError);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  EXPECT_EQ(file_bytes(path.str()), "old");
  EXPECT_FALSE(exists(path.str() + ".partial"));
}

TEST(Hdf5, FilesThatAreNotHdf5Throw) {
  const TemporaryPath path("bad.h5");
  for (const std::string& bytes : {std::string(), std::string("text"), std::string("\x89HDF\r\n\x1a\n")}) {
    write_bytes(path.str(), bytes);
    EXPECT_THROW(hdf5::File::open(path.str(), one()), FileError);
  }
  EXPECT_THROW(hdf5::File::open("/nowhere.h5", one()), FileError);
  {
    hdf5::File file = hdf5::File::create(path.str(), one());
    file.root().write("array", std::vector<double>(10000, 1.0));
    file.commit();
  }
  const std::string good = file_bytes(path.str());
  for (size_t length = 0; length < good.size(); length += 997) {
    write_bytes(path.str(), good.substr(0, length));
    EXPECT_THROW(hdf5::File::open(path.str(), one()).root().read<double>("array"), FileError) << length;
  }
}

/// Sites in the file are [t][z][y][x], and numbers of a site follow.
TEST(Hdf5, SiteArraysAreTimeSlowest) {
  const TemporaryPath path("sites.h5");
  const Geometry geometry({2, 4, 6, 8});
  std::vector<Complex> local;
  for (int64_t site = 0; site < geometry.volume(); ++site)
    for (int k = 0; k < 3; ++k) local.push_back({double(site), double(k)});
  {
    hdf5::File file = hdf5::File::create(path.str(), one());
    file.root().write_sites("field", geometry, local.data(), {3});
    file.commit();
  }
  const hdf5::File file = hdf5::File::open(path.str(), one());
  EXPECT_EQ(file.root().dims("field"), (hdf5::Dims{8, 6, 4, 2, 3}));
  EXPECT_EQ(file.root().read<Complex>("field"), local);
  std::vector<Complex> found(local.size());
  file.root().read_sites("field", geometry, found.data(), {3});
  EXPECT_EQ(found, local);
  EXPECT_THROW(file.root().read_sites("field", geometry, found.data(), {4}), FileError);
  EXPECT_THROW(file.root().read_sites("field", Geometry({4, 2, 6, 8}), found.data(), {3}), FileError);
}

TEST(Hdf5, ReadsTheFileOfAnotherProgram) {
  const char* folder = std::getenv("TRELLIS_TEST_DATA");
  if (folder == nullptr) GTEST_SKIP() << "no data";
  const hdf5::File file = hdf5::File::open(std::string(folder) + "/lalibe/test_propagator_t4.h5", one());
  // The order is [t, z, y, x, spin sink, spin source, colour sink, colour source] on 4 4 4 8.
  const Geometry geometry({4, 4, 4, 8});
  std::vector<Complex> propagator(size_t(geometry.volume()) * 144);
  const hdf5::Group group = file.root().group("sh_sig2p0_n5");
  group.read_sites("PS_up_4", geometry, propagator.data(), {4, 4, 3, 3});
  double norm = 0.0;
  for (const Complex& x : propagator) norm += std::norm(x);
  EXPECT_GT(norm, 0.1);
  EXPECT_EQ(group.read<Complex>("PS_up_4"), propagator);
}

}  // namespace in_test_io_hdf5
}  // namespace trellis
