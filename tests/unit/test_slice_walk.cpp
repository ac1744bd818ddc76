// threads: 2
/// Passes that go through the lattice together, in time slices: every block once, what a pass takes before it
/// is taken, and the bits of passes one after the other.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/five_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/operator/slice_walk.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis {
namespace {

std::vector<char> bytes_of(const SpinorField& field) {
  const char* data = static_cast<const char*>(field.memory().data());
  return {data, data + field.bytes()};
}

/// Some numbers, whatever the storage.
void fill(SpinorField& field) {
  FieldSpec spec = field.spec();
  spec.precision = Precision::double_precision;
  spec.lanes = 0;
  SpinorField wide(field.lattice_ptr(), spec);
  double* numbers = static_cast<double*>(wide.memory().data());
  for (size_t i = 0; i < wide.bytes() / sizeof(double); ++i) numbers[i] = std::sin(double(i));
  convert(field, wide);
}

GaugeField links(const LatticePtr& lattice, uint64_t seed) {
  return test::to_product(lattice, test::random_gauge(lattice->extents(), seed));
}

/// Checks each step against the slices that the pass before has finished.
void expect_complete_and_in_order(const SiteLayout& layout, const std::vector<int>& reaches) {
  const int times = layout.sub_extents()[3], blocks = layout.blocks() / times;
  std::vector<std::vector<int>> visits(reaches.size(), std::vector<int>(size_t(times), 0));
  std::vector<SlicePass> passes;
  for (size_t pass = 0; pass < reaches.size(); ++pass) {
    const int reach = reaches[pass];
    passes.push_back({[&, pass, reach](const SiteRange& sites) {
                        ASSERT_EQ(sites.size(), blocks);
                        ASSERT_EQ(sites.list, nullptr);
                        const int t = sites.begin / blocks;
                        for (int s = t - reach; pass > 0 && s <= t + reach; ++s) {
                          EXPECT_EQ(visits[pass - 1][size_t((s + times) % times)], 1);
                        }
                        ++visits[pass][size_t(t)];
                      },
                      reach});
  }
  const auto expect_one_visit = [&] {
    for (const auto& of_pass : visits)
      for (const int count : of_pass) EXPECT_EQ(count, 1);
  };
  ASSERT_TRUE(can_walk_in_slices(layout, {passes, {}, 0}));
  walk_in_slices(layout, {passes, {}, 0});
  expect_one_visit();

  for (auto& of_pass : visits) of_pass.assign(size_t(times), 0);
  const int ahead = 1;
  std::vector<int> reads;
  const SliceStep first = passes[0].step;
  passes[0].step = [&](const SiteRange& sites) {
    EXPECT_EQ(int(reads.size()), sites.begin / blocks + 1 + ahead) << "slices in order, read before";
    first(sites);
  };
  walk_in_slices(layout,
                 {passes, [&](const SiteRange& sites) { reads.push_back(sites.begin / blocks); }, ahead});
  expect_one_visit();
  const int late = std::accumulate(reaches.begin() + 1, reaches.end(), 0);
  ASSERT_EQ(int(reads.size()), times + std::max(ahead, late)) << "those that come again are read again";
  for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(reads[i], int(i) % times);
}

TEST(SliceWalk, computes_every_slice_once_and_what_it_needs_before) {
  const SiteLayout layout(Geometry({8, 8, 8, 20}), 16);
  for (const std::vector<int>& reaches : {std::vector{0}, std::vector{0, 1}, std::vector{0, 3},
                                          std::vector{0, 1, 1}, std::vector{0, 1, 1, 1, 1}})
    expect_complete_and_in_order(layout, reaches);
}

TEST(SliceWalk, refuses_passes_that_reach_around_the_lattice) {
  const SiteLayout layout(Geometry({4, 4, 4, 6}), 1);
  const auto nothing = [](const SiteRange&) {};
  const std::vector<SlicePass> passes = {{nothing, 0}, {nothing, 3}};
  EXPECT_FALSE(can_walk_in_slices(layout, {passes, {}, 0}));
  EXPECT_THROW(walk_in_slices(layout, {passes, {}, 0}), BadArgument);
  cpu::WalkTrials trials(slice_orders);
  int calls = 0;
  walk_in_order(
      PassOrder::faster, layout,
      [&](PassOrder) {
        return SliceWalk{passes, {}, 0};
      },
      size_t(1) << 30, trials, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

constexpr PassOrder orders[] = {PassOrder::apart, PassOrder::in_slices, PassOrder::in_slices_read};
size_t place_of(PassOrder order) { return size_t(order) - size_t(PassOrder::apart); }

class TwoHops : public ::testing::TestWithParam<Precision> {};

/// The whole operator of domain walls, with its matrices in the fifth dimension and its norms.
TEST_P(TwoHops, of_domain_walls_have_the_same_bits_in_slices) {
  const LatticePtr lattice = make_lattice({4, 4, 8, 12});
  const GaugeField U = links(lattice, 3);
  const DomainWallMatrix D(U, test::moebius(0.05, 4, 1.5, 0.5), KernelChoice{GetParam(), 12});
  SpinorField in = D.make_field(Subset::even, 2);
  fill(in);
  for (const bool is_dagger : {false, true}) {
    std::vector<char> bytes[3];
    Coefficients norms[3];
    for (const PassOrder order : orders) {
      SpinorField even = D.make_field(Subset::even, 2), odd = D.make_field(Subset::odd, 2), out = even;
      TileNorms sum(out);
      D.hop().apply_twice(
          out, odd, 0, even, D.hop_then_fifth(odd, 1, FifthMatrix::K, is_dagger),
          D.hop_then_fifth(out, 0, FifthMatrix::K, is_dagger, -0.25, &in, &sum),
          [&](const SiteRange& sites) { D.apply_fifth(even, in, 0, FifthMatrix::B, is_dagger, sites); },
          order);
      bytes[place_of(order)] = bytes_of(out);
      norms[place_of(order)] = sum.values();
    }
    EXPECT_EQ(bytes[0], bytes[1]);
    EXPECT_EQ(bytes[0], bytes[2]);
    EXPECT_EQ(norms[0], norms[1]);
    EXPECT_EQ(norms[0], norms[2]);
    EXPECT_GT(norms[0][0], 0.0);
  }
}

/// One spinor a site, whose slices are read beforehand; and the norm of what they leave.
TEST_P(TwoHops, of_wilson_quarks_have_the_same_bits_in_slices) {
  const LatticePtr lattice = make_lattice({4, 8, 8, 16});
  const GaugeField U = links(lattice, 5);
  for (const int link_reals : {18, 12}) {
    const HoppingTerm hop(U, WilsonParams{}, KernelChoice{GetParam(), link_reals});
    SpinorField in = hop.make_field(Subset::even, 1);
    fill(in);
    std::vector<char> bytes[3];
    Coefficients norms[3];
    for (const PassOrder order : orders) {
      SpinorField odd = hop.make_field(Subset::odd, 1), out = SpinorField::like(in);
      TileNorms sum(out);
      HopTask to_out;
      to_out.then = [&](const SiteRange& tile, const RawField& place) { sum.add(tile, place); };
      hop.apply_twice(out, odd, 0, in, HopTask{}, to_out, {}, order);
      bytes[place_of(order)] = bytes_of(out);
      norms[place_of(order)] = sum.values();
    }
    EXPECT_EQ(bytes[0], bytes[1]);
    EXPECT_EQ(bytes[0], bytes[2]);
    EXPECT_EQ(norms[0], norms[1]);
    EXPECT_EQ(norms[0], norms[2]);
    EXPECT_GT(norms[0][0], 0.0);
  }
}

/// What is read before a walk are the links, no byte more or less.
TEST(BlockStreams, of_links_are_all_links) {
  const GaugeField U = links(make_lattice({4, 4, 8, 8}), 1);
  for (const int link_reals : {18, 12}) {
    const HopLinks stored(U, Precision::double_precision, link_reals);
    const size_t blocks = size_t(stored.layout().blocks());
    const char* end = nullptr;
    size_t bytes = 0;
    for (const BlockStream& stream : stored.streams()) {
      if (end != nullptr) {
        EXPECT_EQ(stream.data, end);
      }
      end = static_cast<const char*>(stream.data) + blocks * stream.block_bytes;
      bytes += blocks * stream.block_bytes;
    }
    EXPECT_EQ(bytes, stored.bytes());
  }
}

TEST_P(TwoHops, of_staggered_quarks_have_the_same_bits_in_slices) {
  const LatticePtr lattice = make_lattice({8, 8, 8, 16});
  const GaugeField U = links(lattice, 7), fat = links(lattice, 8);
  const auto naive = std::make_shared<StaggeredLinks>(U);
  const auto improved = std::make_shared<StaggeredLinks>(fat, U, -1.0 / 24.0);
  for (const auto& chosen : {naive, improved}) {
    const StaggeredHopping hop(chosen, StaggeredPhases{}, GetParam());
    SpinorField in = hop.make_field(Subset::even, 3);
    fill(in);
    std::vector<char> bytes[2];
    for (const PassOrder order : {PassOrder::apart, PassOrder::in_slices}) {
      SpinorField odd = hop.make_field(Subset::odd, 3), out = SpinorField::like(in);
      hop.apply_twice(out, odd, 0, in, {0.5}, {-0.5, &in, 0.25}, order);
      bytes[place_of(order)] = bytes_of(out);
    }
    EXPECT_EQ(bytes[0], bytes[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, TwoHops,
                         ::testing::Values(Precision::double_precision, Precision::single_precision,
                                           Precision::half_precision, Precision::fp16_precision));

}  // namespace
}  // namespace trellis
