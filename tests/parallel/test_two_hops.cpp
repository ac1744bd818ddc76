// ranks: 1 2 4
// threads: 2
/// The two hops of even-odd operators go in time slices, on one rank and between ranks that split time, with
/// the bits of hops one after the other.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/five_fields.hpp"
#include "trellis/device/cpu/walk/slice_walk.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis {
namespace in_test_two_hops {

std::vector<char> bytes_of(const SpinorField& field) {
  const char* data = static_cast<const char*>(field.memory().data());
  return {data, data + field.bytes()};
}

/// Sets some numbers, whatever the storage is.
void fill(SpinorField& field) {
  FieldSpec spec = field.spec();
  spec.precision = Precision::double_precision;
  spec.lanes = 0;
  SpinorField wide(field.lattice_ptr(), spec);
  double* numbers = static_cast<double*>(wide.memory().data());
  const int rank = field.layout().geometry().rank();
  for (size_t i = 0; i < wide.bytes() / sizeof(double); ++i) numbers[i] = std::sin(double(i) + rank);
  convert(field, wide);
}

GaugeField links(const LatticePtr& lattice, uint64_t seed) {
  return test::to_product(lattice, test::random_gauge(lattice->extents(), seed));
}

constexpr PassOrder orders[] = {PassOrder::apart, PassOrder::in_slices, PassOrder::in_slices_read};
size_t place_of(PassOrder order) { return size_t(order) - size_t(PassOrder::apart); }

/// This class keeps what each order leaves, and its norm.
class OfOrders {
 public:
  void add(PassOrder order, const SpinorField& out, const TileNorms& sum) {
    bytes_[place_of(order)] = bytes_of(out);
    norms_[place_of(order)] = sum.values();
  }
  void expect_equal() const {
    for (size_t i = 1; i < std::size(orders); ++i) {
      EXPECT_EQ(bytes_[0], bytes_[i]);
      EXPECT_EQ(norms_[0], norms_[i]);
    }
    EXPECT_GT(norms_[0].at(0), 0.0);
  }

 private:
  std::vector<char> bytes_[std::size(orders)];
  Coefficients norms_[std::size(orders)];
};

/// Makes a lattice with `local` on each rank, time being cut between them.
LatticePtr cut_in_time(Coord local) {
  const int ranks = world()->size();
  local[3] *= ranks;
  return make_lattice(local, {1, 1, 1, ranks});
}

class TwoHops : public ::testing::TestWithParam<Precision> {};

/// The whole operator of domain walls takes part, with its matrices in the fifth dimension and its norms.
TEST_P(TwoHops, of_domain_walls_have_the_same_bits_in_slices) {
  const LatticePtr lattice = cut_in_time({4, 4, 8, 12});
  const GaugeField U = links(lattice, 3);
  const DomainWallMatrix D(U, test::moebius(0.05, 4, 1.5, 0.5), KernelChoice{GetParam(), 12});
  SpinorField in = D.make_field(Subset::even, 2);
  fill(in);
  for (const bool is_dagger : {false, true}) {
    OfOrders found;
    for (const PassOrder order : orders) {
      SpinorField even = D.make_field(Subset::even, 2), odd = D.make_field(Subset::odd, 2), out = even;
      TileNorms sum(out);
      D.hop().apply_twice(
          out, odd, 0, even, D.hop_then_fifth(odd, 1, FifthMatrix::K, is_dagger),
          D.hop_then_fifth(out, 0, FifthMatrix::K, is_dagger, -0.25, &in, &sum),
          [&](const SiteRange& sites) { D.apply_fifth(even, in, 0, FifthMatrix::B, is_dagger, sites); },
          order);
      found.add(order, out, sum);
    }
    found.expect_equal();
  }
}

/// There is one spinor a site, whose slices are read beforehand, and the norm of what they leave.
TEST_P(TwoHops, of_wilson_quarks_have_the_same_bits_in_slices) {
  const LatticePtr lattice = cut_in_time({4, 8, 8, 16});
  const GaugeField U = links(lattice, 5);
  for (const int link_reals : {18, 12}) {
    const HoppingTerm hop(U, WilsonParams{}, KernelChoice{GetParam(), link_reals});
    SpinorField in = hop.make_field(Subset::even, 1);
    fill(in);
    OfOrders found;
    for (const PassOrder order : orders) {
      SpinorField odd = hop.make_field(Subset::odd, 1), out = SpinorField::like(in);
      TileNorms sum(out);
      HopTask to_out;
      to_out.then = [&](const SiteRange& tile, const RawField& place) { sum.add(tile, place); };
      hop.apply_twice(out, odd, 0, in, HopTask{}, to_out, {}, order);
      found.add(order, out, sum);
    }
    found.expect_equal();
  }
}

TEST_P(TwoHops, of_staggered_quarks_have_the_same_bits_in_slices) {
  const LatticePtr lattice = cut_in_time({8, 8, 8, 16});
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

/// Trials are each rank's own: neighbours may walk in different orders, and change them from call to call.
TEST_P(TwoHops, of_ranks_that_choose_differently_have_the_same_bits) {
  const GaugeField U = links(cut_in_time({8, 8, 8, 8}), 9);
  const HoppingTerm wilson(U, WilsonParams{}, KernelChoice{GetParam(), 12});
  const StaggeredHopping staggered(std::make_shared<StaggeredLinks>(U), StaggeredPhases{}, GetParam());
  const int rank = world()->rank();
  const auto expect_same_bits = [&](const auto& hop, const auto& to_middle, const auto& to_out) {
    SpinorField in = hop.make_field(Subset::even, 1), odd = hop.make_field(Subset::odd, 1);
    fill(in);
    std::vector<char> expected;
    for (int turn = 0; turn < 12; ++turn) {
      const bool in_slices = turn > 0 && (rank + turn / 2) % 2 == 0;
      SpinorField out = SpinorField::like(in);
      hop.apply_twice(out, odd, 0, in, to_middle, to_out,
                      in_slices ? PassOrder::in_slices : PassOrder::apart);
      if (turn == 0) expected = bytes_of(out);
      EXPECT_EQ(bytes_of(out), expected) << "turn " << turn;
    }
  };
  expect_same_bits(staggered, StaggeredHopTask{0.5}, StaggeredHopTask{-0.5});
  struct Wilson {
    const HoppingTerm& hop;
    SpinorField make_field(Subset subset, int rhs) const { return hop.make_field(subset, rhs); }
    void apply_twice(SpinorField& out, SpinorField& middle, int parity, const SpinorField& in,
                     const HopTask& to_middle, const HopTask& to_out, PassOrder order) const {
      hop.apply_twice(out, middle, parity, in, to_middle, to_out, {}, order);
    }
  };
  expect_same_bits(Wilson{wilson}, HopTask{}, HopTask{});
}

INSTANTIATE_TEST_SUITE_P(Storage, TwoHops,
                         ::testing::Values(Precision::double_precision, Precision::single_precision,
                                           Precision::half_precision, Precision::fp16_precision));

}  // namespace in_test_two_hops
}  // namespace trellis
