// threads: 2
// sanitize: 1
/// Output by tiles, in place or streamed out of a buffer, has the same bytes in the blocks that were asked
/// for and none elsewhere; operators keep their bits while a trial takes both ways in turn.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/column_sums.hpp"
#include "tests/support/five_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/operator/tiled_spinor.hpp"

namespace trellis {
namespace in_test_output_tiles {

/// Returns the bytes of a field of one parity, with its scales.
std::vector<char> bytes_of(const SpinorField& field) {
  const char* data = static_cast<const char*>(field.memory().data());
  return {data, data + field.bytes()};
}

/// Returns a field in which every byte differs from those near it.
SpinorField patterned(const LatticePtr& lattice, const FieldSpec& spec) {
  SpinorField field(lattice, spec);
  char* data = static_cast<char*>(field.memory().data());
  for (size_t i = 0; i < field.bytes(); ++i) data[i] = char(1 + (i + i / 251) % 127);
  return field;
}

struct Sizes {
  size_t block, scales;
};
Sizes sizes_of(const SpinorField& field) {
  const size_t lanes = size_t(field.slots() * field.layout().lanes());
  return {lanes * 24 * element_bytes(field.precision()), lanes * scale_bytes(field.precision())};
}

void copy_blocks(const SiteRange& tile, const RawField& from, const RawField& to, const Sizes& sizes) {
  for (int i = tile.begin; i < tile.end; ++i) {
    const size_t block = size_t(tile.list ? tile.list[i] : i);
    std::memcpy(static_cast<char*>(to.data) + block * sizes.block,
                static_cast<char*>(from.data) + block * sizes.block, sizes.block);
    if (from.scale)
      std::memcpy(reinterpret_cast<char*>(to.scale) + block * sizes.scales,
                  reinterpret_cast<char*>(from.scale) + block * sizes.scales, sizes.scales);
  }
}

class OutputTiles : public ::testing::TestWithParam<Precision> {};

TEST_P(OutputTiles, HaveTheBlocksThatWereAskedFor) {
  const LatticePtr lattice = make_lattice({8, 8, 4, 4});
  FieldSpec spec;
  spec.precision = GetParam();
  spec.subset = Subset::even;
  spec.rhs = 6;
  const SpinorField from = patterned(lattice, spec);
  const Sizes sizes = sizes_of(from);
  const int blocks = from.layout().blocks();
  ASSERT_GE(blocks, 16);
  // The list is neither ascending nor without gaps; the first and last of a run do not tell of it.
  const std::vector<int32_t> list = {5, 6, 7, 2, 9, 10, 0, 15, 12, 14};
  for (const SiteRange& sites : {SiteRange(blocks), SiteRange(list), SiteRange(0)}) {
    SpinorField expected(lattice, spec);
    copy_blocks(sites, from.raw(0), expected.raw(0), sizes);
    for (const TileOutput output : {TileOutput::in_place, TileOutput::streamed}) {
      SpinorField out(lattice, spec);
      const RawField raw = out.raw(0);
      walk_in_tiles(tiled(out, 0), sites, output, [&](const SiteRange& tile, const RawField& place) {
        EXPECT_EQ(place.data == raw.data, output == TileOutput::in_place);
        copy_blocks(tile, from.raw(0), place, sizes);
      });
      EXPECT_EQ(bytes_of(out), bytes_of(expected));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, OutputTiles,
                         ::testing::Values(Precision::double_precision, Precision::single_precision,
                                           Precision::half_precision, Precision::fp16_precision));

TEST(OutputTiles, RefusesToStreamPartsOfCacheLines) {
  FieldSpec spec;
  spec.precision = Precision::half_precision;
  spec.subset = Subset::even;
  spec.lanes = 1;  // blocks have 48 bytes
  const SpinorField out(make_lattice({4, 4, 4, 4}), spec);
  EXPECT_THROW(walk_in_tiles(tiled(out, 0), SiteRange(4), TileOutput::streamed,
                             [](const SiteRange&, const RawField&) { FAIL(); }),
               BadArgument);
}

/// Fields have 40 MB, so that both ways are tried, and time slices: each has four launches in turn.
TEST(OutputTiles, OperatorsKeepTheirBits) {
  const Coord extents{8, 8, 8, 16};
  const LatticePtr lattice = make_lattice(extents);
  const auto matrix = std::make_shared<DomainWallMatrix>(
      test::to_product(lattice, test::random_gauge(extents, 3)), test::moebius(0.05, 24, 1.5, 0.5),
      KernelChoice{Precision::double_precision, 12, Backend::cpu, 0});
  const DomainWallSchur S(matrix, SchurForm::symmetric, 0);
  SpinorField in = matrix->make_field(Subset::even, 1), out = in;
  double* numbers = static_cast<double*>(in.memory().data());
  for (size_t i = 0; i < in.bytes() / sizeof(double); ++i) numbers[i] = std::sin(double(i));
  std::vector<char> first;
  Coefficients norm;
  for (int round = 0; round < 10; ++round) {
    const Coefficients found = test::apply_with_norm2(S, out, in);
    if (round == 0) {
      first = bytes_of(out);
      norm = found;
    }
    EXPECT_EQ(bytes_of(out), first) << round;
    EXPECT_EQ(found, norm) << round;
  }
}

}  // namespace in_test_output_tiles
}  // namespace trellis
