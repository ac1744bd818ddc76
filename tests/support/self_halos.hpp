#pragma once
/// A process that plays one rank of many sends its faces to itself: on periodic fields its hops have the bits
/// of those that nobody cuts.
#include <gtest/gtest.h>

#include "tests/support/product_fields.hpp"
#include "trellis/comm/played_rank.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/operator/hopping_term.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis::test {

inline constexpr Coord self_extents{4, 6, 4, 8};
inline constexpr Coord self_partitions[] = {{1, 2, 2, 2}, {3, 1, 1, 2}, {2, 4, 1, 1}};

/// Returns the lattice of a process that plays a rank of the partition.
inline LatticePtr played_lattice(const Coord& partition) {
  Coord extents;
  for (int mu = 0; mu < Nd; ++mu) extents[mu] = self_extents[mu] * partition[mu];
  return make_lattice(extents, partition, std::make_shared<PlayedRank>(int(product(partition))));
}
inline LatticePtr uncut_lattice() {
  return make_lattice(self_extents, Coord{1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
}

/// Returns the numbers of all right-hand sides after two hops, of fields with the same numbers on any lattice
/// of such parts.
template <class Hop>
std::vector<double> hop_twice(const Hop& hop, SpinorField even, SpinorField odd) {
  const size_t each = size_t(even.geometry().local_volume()) * size_t(even.reals());
  std::vector<double> all(each * size_t(even.rhs()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = hash_uniform(i) - 0.5;
  for (int rhs = 0; rhs < even.rhs(); ++rhs) even.from_canonical(&all[size_t(rhs) * each], rhs);
  hop(odd, 1, even);
  hop(even, 0, odd);
  for (int rhs = 0; rhs < even.rhs(); ++rhs) even.to_canonical(&all[size_t(rhs) * each], rhs);
  return all;
}

inline GaugeField self_links(const LatticePtr& lattice) {
  const reference::Gauge U = random_gauge(self_extents, 81, 0.7);
  std::vector<double> canonical(size_t(product(self_extents)) * 72);
  std::memcpy(canonical.data(), U.links.data(), canonical.size() * sizeof(double));
  GaugeField field(lattice);
  field.from_canonical(canonical.data());
  return field;
}

inline std::vector<double> self_wilson_hops(const LatticePtr& lattice, const KernelChoice& choice, int rhs) {
  WilsonParams params;
  params.boundary = {1.0, 1.0, 1.0, 1.0};
  const HoppingTerm hop(self_links(lattice), params, choice);
  return hop_twice(
      [&](SpinorField& out, int parity, const SpinorField& in) { hop.apply(out, parity, in, HopTask{}); },
      hop.make_field(Subset::even, rhs), hop.make_field(Subset::odd, rhs));
}

inline std::vector<double> self_staggered_hops(const LatticePtr& lattice, const KernelChoice& choice,
                                               int rhs) {
  StaggeredPhases phases;
  phases.boundary = {1.0, 1.0, 1.0, 1.0};
  const StaggeredHopping hop(std::make_shared<StaggeredLinks>(self_links(lattice), choice), phases,
                             choice.precision);
  return hop_twice(
      [&](SpinorField& out, int parity, const SpinorField& in) { hop.apply(out, parity, in, 1.0); },
      hop.make_field(Subset::even, rhs), hop.make_field(Subset::odd, rhs));
}

/// Compares hops of each partition by one policy with those that nobody cuts, in all storages.
inline void expect_same_hops(ExchangePolicy policy, Backend backend) {
  const ExchangePolicy before = exchange_policy();
  for (const Precision precision : all_precisions) {
    const int rhs = 1 + int(precision) % 2 * 2;
    const KernelChoice choice{precision, 12, backend, 0};
    const std::vector<double> wilson = self_wilson_hops(uncut_lattice(), choice, rhs),
                              staggered = self_staggered_hops(uncut_lattice(), choice, rhs);
    set_exchange_policy(policy);
    for (const Coord& partition : self_partitions) {
      const std::string what = message(name_of(policy), ", ", name_of(precision), ", ", to_string(partition));
      EXPECT_EQ(self_wilson_hops(played_lattice(partition), choice, rhs), wilson) << what;
      EXPECT_EQ(self_staggered_hops(played_lattice(partition), choice, rhs), staggered) << what;
    }
    set_exchange_policy(before);
  }
}

}  // namespace trellis::test
