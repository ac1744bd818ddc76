/// In the GPU layout each number of a site has one place, each vector can be loaded at once, and all ways to
/// read a site give what was stored.
// sanitize: 0
#define TRELLIS_FOR_TESTS 1  // nothing is inlined by force: it compiles faster
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/view/site_array.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {
namespace in_test_vector_access {

constexpr int warp = GpuLayout::warp, slots = 3, groups = 2;

TEST(vectors, cover_a_site_and_are_aligned) {
  for (const int length : {2, 4, 8})  // these are for double, float, 16 bits
    for (int reals = 1; reals <= 80; ++reals) {
      std::set<size_t> places;
      for (int lane = 0; lane < warp; ++lane)
        for (int i = 0; i < reals; ++i) {
          const GpuVector v = gpu_vector_of(i, reals, length);
          ASSERT_TRUE(v.first <= i && i < v.first + v.length && v.first + v.length <= reals);
          ASSERT_TRUE(v.length == 1 || v.length == 2 || v.length == 4 || v.length == 8);
          ASSERT_LE(v.length, length);
          const size_t first = gpu_component_offset(v.first, reals, lane, length);
          ASSERT_EQ(first % size_t(v.length), 0u);
          const size_t place = gpu_component_offset(i, reals, lane, length);
          ASSERT_EQ(place, first + size_t(i - v.first));
          places.insert(place);
        }
      ASSERT_EQ(places.size(), size_t(reals * warp));
      ASSERT_EQ(*places.rbegin(), size_t(reals * warp - 1));
    }
}

/// This struct is a field of N reals a site in the GPU layout.
template <class Storage, int N>
struct Field {
  using Array = SiteArray<GpuLayout, Storage, N>;
  using Element = typename Array::Element;
  using Real = typename Array::Real;
  struct alignas(16) Vector {
    char bytes[16];
  };
  std::vector<Vector> memory = std::vector<Vector>(size_t(groups * slots * N * warp) * sizeof(Element) / 16);
  std::vector<float> scales = std::vector<float>(size_t(groups * slots * warp), 1.0f);

  RawField raw() {
    RawField field;
    field.data = memory.data();
    field.scale = scales.data();
    field.slots = slots;
    return field;
  }
};

template <class Storage, int N>
void expect_one_value_for_all_ways() {
  Field<Storage, N> field;
  using Array = typename Field<Storage, N>::Array;
  using Real = typename Array::Real;
  const Array array(field.raw());
  const SiteElements<GpuLayout, Storage> elements(field.raw(), N);
  test::Random random(N);
  for (int site = 0; site < groups * warp; ++site)
    for (int slot = 0; slot < slots; ++slot) {
      Real out[N], in[N], constant[N];
      for (Real& r : out) r = Real(random.symmetric());
      array.store(site, slot, out);
      array.load(site, slot, in);
      array.template load<Access::constant>(site, slot, constant);
      const Real unit = array.load_unit(site, slot);
      unroll<N>([&](auto i) {
        const Real element = Real(*elements.element(site, 0, slot, i));
        ASSERT_EQ(in[i], Array::is_half ? unit * element : element);
        ASSERT_EQ(constant[i], in[i]);
        ASSERT_EQ(array.template component<i>(site, slot, unit), in[i]);
        ASSERT_EQ(array.component(site, slot, i, unit), in[i]);
        if constexpr (!Array::rounds) {
          ASSERT_EQ(in[i], out[i]);
        }
      });
      for (int k = 0; k < N; k += 2) {
        Real pair[2];
        elements.stored_pair(site, slot, k, pair);
        ASSERT_EQ(pair[0], Real(*elements.element(site, 0, slot, k)));
        ASSERT_EQ(pair[1], k + 1 < N ? Real(*elements.element(site, 0, slot, k + 1)) : Real(0));
      }
      if constexpr (N % 2 == 0)
        for (int k = 0; k < N / 2; ++k) {
          const Complex<Real> z = array.number(site, slot, k, unit);
          ASSERT_EQ(z.re, in[2 * k]);
          ASSERT_EQ(z.im, in[2 * k + 1]);
        }
      if constexpr (Array::is_half)
        unroll<N / 2>(
            [&](auto k) { ASSERT_EQ(array.template pair<k>(site, slot), array.pair(site, slot, k)); });
    }
}

TEST(vectors, give_what_was_stored) {
  expect_one_value_for_all_ways<double, 18>();
  expect_one_value_for_all_ways<double, 9>();
  expect_one_value_for_all_ways<double, 3>();
  expect_one_value_for_all_ways<float, 24>();
  expect_one_value_for_all_ways<float, 18>();
  expect_one_value_for_all_ways<float, 14>();
  expect_one_value_for_all_ways<float, 7>();
  expect_one_value_for_all_ways<float, 3>();
  expect_one_value_for_all_ways<Fp16, 24>();
  expect_one_value_for_all_ways<Fp16, 18>();
  expect_one_value_for_all_ways<Fp16, 7>();
  expect_one_value_for_all_ways<Half, 24>();
  expect_one_value_for_all_ways<Half, 18>();
  expect_one_value_for_all_ways<Half, 14>();
  expect_one_value_for_all_ways<Half, 12>();
  expect_one_value_for_all_ways<Half, 6>();
}

template <class Storage>
void expect_groups_to_be_parts_of_a_site() {
  Field<Storage, 24> field;
  const typename Field<Storage, 24>::Array array(field.raw());
  using Real = typename Field<Storage, 24>::Real;
  for (int first = 0; first < 24; first += 4) {
    Real r[4];
    for (int i = 0; i < 4; ++i) r[i] = Real(first + i) / Real(64);
    array.store_group(37, 2, first, r);
  }
  Real all[24];
  array.load(37, 2, all);
  for (int i = 0; i < 24; ++i) ASSERT_EQ(all[i], Real(i) / Real(64));
  for (int first = 0; first < 24; first += 4) {
    Real r[4];
    array.load_group(37, 2, first, r);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(r[i], all[first + i]);
  }
}

TEST(vectors, move_parts_of_a_site) {
  expect_groups_to_be_parts_of_a_site<double>();
  expect_groups_to_be_parts_of_a_site<float>();
  expect_groups_to_be_parts_of_a_site<Fp16>();
}

TEST(vectors, store_pairs_of_any_number_of_reals) {
  for (const int reals : {3, 6, 14}) {
    Field<float, 14> field;  // it has room for all
    const SiteElements<GpuLayout, float> elements(field.raw(), reals);
    for (int i = 0; i < reals; i += 2) {
      const float r[2] = {float(i), float(i + 1)};
      elements.store(5, 1, i, r, 1.0f);
    }
    for (int i = 0; i < reals; ++i) ASSERT_EQ(*elements.element(5, 0, 1, i), float(i));
  }
}

TEST(vectors, refuse_addresses_that_a_gpu_cannot_load_from) {
  Field<float, 24> field;
  RawField raw = field.raw();
  raw.data = static_cast<float*>(raw.data) + 2;
  const SiteArray<GpuLayout, float, 24> array(raw);
  float r[24];
  try {
    array.load(0, 0, r);
    FAIL() << "a load of 16 bytes from an address that is a multiple of 8 passed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected a multiple of its 16 bytes"), std::string::npos)
        << error.what();
  }
}

}  // namespace in_test_vector_access
}  // namespace trellis
