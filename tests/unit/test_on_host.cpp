/// Work on the host for fields of any backend is done in place, without a transfer, on fields that the host
/// reaches (tests/parallel/test_cuda.cpp has the others).
#include <gtest/gtest.h>

#include <utility>

#include "trellis/base/error.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/field/storage/same_links.hpp"

namespace trellis {
namespace in_test_on_host {

SpinorField make_spinor(Backend backend) {
  FieldSpec spec;
  spec.backend = backend;
  return SpinorField(make_lattice({4, 4, 4, 4}), spec);
}

TEST(OnHost, works_in_place_where_the_host_reaches_the_field) {
  const HostTransfers before = host_transfers();
  for (const Backend backend : {Backend::cpu, Backend::gpu_emulated}) {
    SpinorField field = make_spinor(backend);
    const SpinorField* seen = nullptr;
    on_host(field, [&](SpinorField& same) {
      seen = &same;
      const double reals[24] = {3.5};
      same.set_site({1, 2, 0}, 0, reals);
    });
    EXPECT_EQ(seen, &field);
    const double value = on_host(std::as_const(field), [&](const SpinorField& same) {
      EXPECT_EQ(&same, &field);
      return same.get({1, 2, 0}, 0, 0);
    });
    EXPECT_EQ(value, 3.5);
    // A function that takes a constant field reads, whatever it is given.
    on_host(field, [&](const SpinorField& same) { EXPECT_EQ(&same, &field); });
  }
  EXPECT_EQ(host_transfers().count, before.count);
  EXPECT_EQ(host_transfers().bytes, before.bytes);
}

TEST(OnHost, refuses_memory_that_it_does_not_reach) {
  EXPECT_NO_THROW(require_host(Backend::cpu, "this works on the CPU"));
  EXPECT_THROW(require_host(Backend::cuda, "this works on the CPU"), BadArgument);
}

TEST(SameLinks, differ_in_any_bit_of_an_inner_link) {
  const GaugeField U(make_lattice({4, 4, 4, 4}));
  GaugeField V = U;
  EXPECT_TRUE(has_same_links(U, V));
  Link link = V.link({3, 3, 3, 3}, 3);
  link[8] += 1e-16 * link[0].real() + 2.3e-16;
  V.set_link({3, 3, 3, 3}, 3, link);
  EXPECT_FALSE(has_same_links(U, V));
  EXPECT_FALSE(has_same_links(U, GaugeField(U.lattice_ptr(), 1))) << "another number of lanes";
}

}  // namespace in_test_on_host
}  // namespace trellis
