/// Kernels in the forms that only GPUs run, on fields in the GPU layout on the host: several right-hand sides
/// of a hop in a thread, and the fifth dimension in parts, give the bits of one at a time and of whole sites.
// sanitize: 0
#define TRELLIS_FOR_TESTS 1  // kernels are not inlined by force: they compile in a quarter of the time
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/support/random_fields.hpp"
#include "trellis/kernels/dirac/fifth_dimension_by_parts.hpp"
#include "trellis/kernels/dirac/staggered_hop.hpp"
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/kernels/gauge/paths.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {
namespace in_test_gpu_kernels {

constexpr int sites = 64;

/// This class is a field of N random reals a site in the GPU layout.
template <class Storage, int N>
class Field {
 public:
  using Array = SiteArray<GpuLayout, Storage, N>;
  using Real = typename Array::Real;
  Field(int slots, uint64_t seed)
      : slots_{slots},
        memory_(size_t(sites * slots * N) * sizeof(typename Array::Element) / 16),
        scales_(size_t(sites * slots), 1.0f) {
    test::Random random(seed);
    for (int site = 0; site < sites; ++site)
      for (int slot = 0; slot < slots; ++slot) {
        Real r[N];
        for (Real& x : r) x = Real(0.3 * random.symmetric());
        Array(raw()).store(site, slot, r);
      }
  }
  RawField raw() {
    RawField field;
    field.data = memory_.data();
    field.scale = scales_.data();
    field.slots = slots_;
    return field;
  }
  bool operator==(const Field& other) const {
    return scales_ == other.scales_ &&
           std::memcmp(memory_.data(), other.memory_.data(), 16 * memory_.size()) == 0;
  }

 private:
  struct alignas(16) Vector {
    char bytes[16];
  };
  int slots_;
  std::vector<Vector> memory_;
  std::vector<float> scales_;
};

/// Returns neighbours at random; some lie on another rank, and some across the boundary.
std::vector<int32_t> random_table(int flags, uint64_t seed) {
  test::Random random(seed);
  std::vector<int32_t> table(8 * sites);
  for (int32_t& entry : table) {
    const auto pick = [&](int n) { return int(double(n) * (0.4999 * random.symmetric() + 0.5)); };
    entry = int32_t(pick(sites)) * (flags + 1) + pick(flags + 1);
  }
  return table;
}

template <class Hop, int S, class Call, class Output>
void run(const Call& call, Output& out) {
  const Hop hop(call);
  for (int site = 0; site < sites; ++site)
    for (int slot = 0; slot < call.slots; slot += S) hop.template compute<S>(site, slot);
  ASSERT_NE(out.raw().data, nullptr);
}

template <class Storage, int LinkReals>
void expect_columns_of_wilson_hops_to_agree(bool is_real, bool is_dagger) {
  using Scalar = typename StorageTraits<Storage>::compute;
  using Hop = WilsonHop<GpuLayout, Storage, LinkReals>;
  constexpr int slots = 12, ghost_reals = std::is_same_v<Storage, Half> ? 7 : 12;
  Field<Storage, LinkReals> here(4, 1), there(4, 2);
  Field<Storage, 24> in(slots, 3), x(slots, 4), one(slots, 5), several(slots, 6);
  Field<Storage, 72> clover(1, 7);
  Field<Scalar, ghost_reals> ahead(slots, 8);
  Field<Scalar, 12> behind(slots, 9);
  alignas(16) static int32_t table[8 * sites];
  const std::vector<int32_t> entries = random_table(3, 10);
  std::copy(entries.begin(), entries.end(), table);
  const double re[16] = {-0.6}, im[16] = {0.8};
  WilsonHopCall call;
  call.stencil.table = table;
  call.stencil.legs[3].phase_re = call.stencil.legs[6].phase_re = re;
  call.stencil.legs[3].phase_im = im;
  call.stencil.legs[5].coefficient = 0.7;
  call.links_here = here.raw();
  call.links_there = there.raw();
  call.link_reals = LinkReals;
  call.in = in.raw();
  call.x = x.raw();
  call.clover = clover.raw();
  for (int leg = 0; leg < 8; ++leg) call.ghosts[leg] = leg % 2 == 0 ? ahead.raw() : behind.raw();
  call.x_term = is_real ? SiteTerm::chiral_scalar : SiteTerm::clover;
  call.x_scalar[0] = 1.1;
  call.hop_scalar[0] = -0.4;
  call.is_dagger = is_dagger;
  call.slots = slots;
  call.out = one.raw();
  run<Hop, 1>(call, one);
  call.out = several.raw();
  const auto expect_same = [&](auto columns) {
    several = Field<Storage, 24>(slots, 6);
    call.out = several.raw();
    run<Hop, columns>(call, several);
    EXPECT_TRUE(several == one) << columns << " columns, links of " << LinkReals << " reals";
  };
  unroll<Hop::most_columns - 1>([&](auto k) { expect_same(std::integral_constant<int, k + 2>{}); });
}

TEST(columns_in_a_thread, of_wilson_hops) {
  for (const bool is_real : {true, false})
    for (const bool is_dagger : {false, true}) {
      expect_columns_of_wilson_hops_to_agree<double, 18>(is_real, is_dagger);
      expect_columns_of_wilson_hops_to_agree<float, 12>(is_real, is_dagger);
      expect_columns_of_wilson_hops_to_agree<float, 8>(is_real, is_dagger);
      expect_columns_of_wilson_hops_to_agree<Half, 18>(is_real, is_dagger);
      expect_columns_of_wilson_hops_to_agree<Half, 12>(is_real, is_dagger);
      expect_columns_of_wilson_hops_to_agree<Fp16, 12>(is_real, is_dagger);
    }
}

template <class Storage, int Near, int Far>
void expect_columns_of_staggered_hops_to_agree() {
  using Scalar = typename StorageTraits<Storage>::compute;
  using Hop = StaggeredHop<GpuLayout, Storage, Near, Far>;
  constexpr int slots = 12;
  Field<Storage, Near> near_here(4, 1), near_there(4, 2);
  Field<Storage, Far == 0 ? 18 : Far> far_here(4, 3), far_there(4, 4);
  Field<Storage, 6> in(slots, 5), x(slots, 6), one(slots, 7), several(slots, 8);
  Field<Scalar, 6> ghosts(slots, 9);
  alignas(16) static int32_t table[8 * sites], index[8 * sites];
  const std::vector<int32_t> entries = random_table(1, 10);
  for (size_t i = 0; i < entries.size(); ++i) {  // an entry is index << 3 | is_ghost: one lane does not move
    table[i] = (entries[i] >> 1) << 3 | (entries[i] & 1);
    index[i] = int32_t(i % 2);
  }
  alignas(16) const Scalar rows[4] = {Scalar(0.5), Scalar(0), Scalar(-0.3), Scalar(0.4)};
  StaggeredHopCall call;
  for (HopPart* part : {&call.near, &call.far}) {
    part->stencil.table = table;
    part->phases = {index, rows};
    for (RawField& ghost : part->ghosts) ghost = ghosts.raw();
  }
  call.near.links_here = near_here.raw();
  call.near.links_there = near_there.raw();
  call.far.links_here = far_here.raw();
  call.far.links_there = far_there.raw();
  call.near.link_reals = Near;
  call.far.link_reals = Far;
  call.in = in.raw();
  call.x = x.raw();
  call.x_scalar = 0.2;
  call.slots = slots;
  call.out = one.raw();
  run<Hop, 1>(call, one);
  unroll<3>([&](auto k) {
    constexpr int columns = k == 0 ? 3 : k == 1 ? 4 : 6;
    several = Field<Storage, 6>(slots, 8);
    call.out = several.raw();
    run<Hop, columns>(call, several);
    EXPECT_TRUE(several == one) << columns << " columns, links of " << Near << " and " << Far << " reals";
  });
}

TEST(columns_in_a_thread, of_staggered_hops) {
  expect_columns_of_staggered_hops_to_agree<double, 12, 0>();
  expect_columns_of_staggered_hops_to_agree<float, 18, 14>();
  expect_columns_of_staggered_hops_to_agree<Half, 18, 14>();
  expect_columns_of_staggered_hops_to_agree<Fp16, 18, 18>();
}

TEST(walks, of_packed_legs_are_those_of_legs) {
  Field<double, 18> links(4, 1);
  alignas(16) static int32_t table[8 * sites];
  const std::vector<int32_t> entries = random_table(0, 2);
  for (size_t i = 0; i < entries.size(); ++i) table[i] = entries[i] << 1;  // an entry is block << 1 | crosses
  ExtendedTables tables;
  tables.neighbours = table;
  const GaugeView<GpuLayout, double> U(links.raw(), tables);
  test::Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    int legs[5];
    for (int& leg : legs) leg = int(4 + 3.999 * random.symmetric());
    const auto one = walk(U, U.at(trial % sites), legs);
    const auto other = packed_walk<5>(U, U.at(trial % sites), packed_legs(legs));
    ASSERT_EQ(std::memcmp(&one, &other, sizeof(one)), 0) << "trial " << trial;
  }
}

TEST(fixed_point_projections, have_one_text_for_both_signs) {
  test::Random random(11);
  const int largest = int(fixed_point_full_scale(24));
  for (int trial = 0; trial < 1000; ++trial) {
    int32_t psi[Ns];
    for (int32_t& pair : psi) {
      const auto integer = [&] {
        return trial % 10 == 0 ? (random.symmetric() > 0 ? largest : -largest)
                               : int(largest * random.symmetric());
      };
      const int re = integer(), im = integer();
      pair = pack_pair(re, im);
    }
    unroll<4>([&](auto mu) {
      int32_t plus[2], minus[2], of_plus[2], of_minus[2];
      project_pairs<mu, true>(plus, psi);
      project_pairs<mu, false>(minus, psi);
      project_signed_pairs<mu>(of_plus, psi, 1);
      project_signed_pairs<mu>(of_minus, psi, -1);
      for (int k = 0; k < 2; ++k) {
        ASSERT_EQ(of_plus[k], plus[k]) << "direction " << mu;
        ASSERT_EQ(of_minus[k], minus[k]) << "direction " << mu;
      }
    });
  }
}

template <class Storage>
void expect_parts_to_be_the_whole(int slices, bool is_dagger, bool has_x, bool has_recursion,
                                  bool has_product) {
  using Scalar = typename StorageTraits<Storage>::compute;
  constexpr int rhs = 2;
  const int slots = rhs * slices;
  Field<Storage, 24> in(slots, 1), x(slots, 2), whole(slots, 3), parts(slots, 3);
  FifthDimensionCall call;
  call.in = in.raw();
  call.x = x.raw();
  call.slices = slices;
  call.rhs = rhs;
  call.is_dagger = is_dagger;
  call.has_x = has_x;
  call.coefficients.has_recursion = has_recursion;
  call.coefficients.has_product = has_product;
  test::Random random(4);
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int i = 0; i < slices; ++i) {
      FifthCoefficients& m = call.coefficients;
      for (auto* of_kind : {&m.p, &m.r, &m.q, &m.a, &m.b, &m.c})
        (*of_kind)[chirality][i] = random.symmetric();
      if (!has_product) m.r[chirality][i] = 0;
      if (i == 0) m.q[chirality][i] = 0;
    }
  call.out = whole.raw();
  const FifthDimension<GpuLayout, Storage> by_sites(call);
  for (int site = 0; site < sites; ++site)
    for (int r = 0; r < rhs; ++r) by_sites(site, r);
  using Parts = FifthDimensionByParts<GpuLayout, Storage>;
  const auto run_parts = [&](RawField out) {
    call.out = out;
    const Parts by_parts(call);
    for (int site = 0; site < sites; ++site)
      for (int slot = 0; slot < Parts::slots(rhs); ++slot) by_parts(site, slot);
  };
  run_parts(parts.raw());
  EXPECT_TRUE(parts == whole) << slices << " slices, " << sizeof(Scalar) << " bytes";
  run_parts(in.raw());
  EXPECT_TRUE(in == whole) << "in place, " << slices << " slices, " << sizeof(Scalar) << " bytes";
}

TEST(fifth_dimension, in_parts) {
  for (const int slices : {1, 2, 4, 7, 12})
    for (int bits = 0; bits < 16; ++bits) {
      const bool has_recursion = (bits & 4) != 0, has_product = (bits & 12) == 12;
      expect_parts_to_be_the_whole<double>(slices, (bits & 1) != 0, (bits & 2) != 0, has_recursion,
                                           has_product);
      expect_parts_to_be_the_whole<float>(slices, (bits & 1) != 0, (bits & 2) != 0, has_recursion,
                                          has_product);
      expect_parts_to_be_the_whole<Fp16>(slices, (bits & 1) != 0, (bits & 2) != 0, has_recursion,
                                         has_product);
    }
}

}  // namespace in_test_gpu_kernels
}  // namespace trellis
