// ranks: 1 2 8
/// On lattices with extents of 1 and with odd local extents, sums, random numbers and files of fields are
/// those of the whole lattice on every process grid; gauge fields and quarks refuse what they cannot take.
#include <gtest/gtest.h>

#include "tests/unit/io_test_fields.hpp"
#include "trellis/algebra/random.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/gauge/topological_charge.hpp"
#include "trellis/io/gauge_file.hpp"
#include "trellis/io/site_field_file.hpp"
#include "trellis/measure/noise.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace in_test_odd_lattices {

constexpr Coord lattices[] = {{6, 6, 2, 4}, {6, 6, 2, 1}, {1, 8, 1, 4}, {8, 1, 1, 2}};

std::vector<LatticePtr> all_cuts(const Coord& extents) {
  std::vector<LatticePtr> cuts;
  for (const Coord& grid : legal_process_grids(extents, world()->size(), 1, LocalExtents::any))
    cuts.push_back(make_lattice(extents, grid));
  return cuts;
}

/// Returns a real of the site with this global index.
double value(int64_t site, int real) {
  return 1.0 / double(3 + site) - 0.001 * double((site * 7 + real) % 11);
}

/// Returns this rank's part, in canonical order.
std::vector<double> canonical_values(const Geometry& geometry, int reals) {
  std::vector<double> values;
  for (int64_t i = 0; i < geometry.local_volume(); ++i)
    for (int real = 0; real < reals; ++real)
      values.push_back(value(geometry.global_index(site_coord(i, geometry.local())), real));
  return values;
}

/// Returns the exact sum of `term` of every site of a subset of the whole lattice.
template <class Term>
double whole_sum(const Coord& extents, Subset subset, const Term& term) {
  ExactSum sum;
  for (int64_t site = 0; site < product(extents); ++site) {
    const int parity = site_parity(site_coord(site, extents));
    if (parity >= first_parity(subset) && parity <= last_parity(subset)) sum.add(term(site));
  }
  return sum.value();
}

TEST(OddLattices, sums_are_those_of_the_whole_lattice) {
  constexpr int reals = 5;
  const auto norm = [](int64_t site) {
    double sum = 0;
    for (int i = 0; i < reals; ++i) sum = std::fma(value(site, i), value(site, i), sum);
    return sum;
  };
  for (const Coord& extents : lattices)
    for (const LatticePtr& lattice : all_cuts(extents))
      for (const Subset subset : {Subset::full, Subset::even, Subset::odd}) {
        SiteField x(lattice, {.subset = subset, .reals = reals}), y = SiteField::like(x);
        x.from_canonical(canonical_values(lattice->geometry(), reals).data());
        EXPECT_EQ(norm2(x), whole_sum(extents, subset, norm)) << to_string(extents);
        combine(y, 2.0, x, -1.0, x);
        EXPECT_EQ(dot(x, y), whole_sum(extents, subset, norm)) << to_string(extents);
        EXPECT_EQ(x.sites(), int64_t(whole_sum(extents, subset, [](int64_t) { return 1.0; })));
      }
}

TEST(OddLattices, conversions_keep_every_site) {
  for (const Coord& extents : lattices)
    for (const LatticePtr& lattice : all_cuts(extents)) {
      SiteField x(lattice, {.rhs = 2, .reals = 7});
      const std::vector<double> values = canonical_values(lattice->geometry(), 7);
      x.from_canonical(values.data(), 1);
      SiteField y(lattice, {.rhs = 2, .reals = 7, .backend = Backend::gpu_emulated});
      convert(y, x);
      SiteField even(lattice, {.subset = Subset::even, .rhs = 2, .reals = 7}), z = SiteField::like(x);
      SiteField odd(lattice, {.subset = Subset::odd, .rhs = 2, .reals = 7});
      extract_parity(even, x);
      extract_parity(odd, x);
      insert_parity(z, even);
      insert_parity(z, odd);
      std::vector<double> found(values.size());
      for (const SiteField* field : {&y, &z}) {
        field->to_canonical(found.data(), 1);
        EXPECT_TRUE(found == values) << to_string(extents);
      }
    }
}

TEST(OddLattices, random_numbers_are_keyed_by_the_global_site) {
  const Noise noise{.kind = NoiseKind::z2, .seed = 5};
  for (const Coord& extents : lattices)
    for (const LatticePtr& lattice : all_cuts(extents)) {
      const Geometry& geometry = lattice->geometry();
      const SpinorField eta = noise_vectors(lattice, noise, 1);
      std::vector<double> found(size_t(geometry.local_volume()) * 24);
      eta.to_canonical(found.data());
      int wrong = 0;
      for (int64_t i = 0; i < geometry.local_volume(); ++i) {
        const uint64_t site = uint64_t(geometry.global_index(site_coord(i, geometry.local())));
        const SiteRandom<double> random(random_key(5, 0), RandomPurpose::trace_noise, 0, site);
        for (uint32_t c = 0; c < 12; ++c) wrong += found[size_t(i) * 24 + 2 * c] != random.z2(c) ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0) << to_string(extents);
    }
}

TEST(OddLattices, files_of_site_fields_come_back_on_any_grid) {
  constexpr int reals = 5;
  for (const Coord& extents : lattices) {
    const auto cuts = all_cuts(extents);
    if (cuts.empty()) continue;
    const std::string path = testing_io::common_name("odd_lattice");
    write_site_field(path, *cuts.front(), canonical_values(cuts.front()->geometry(), reals).data(), reals);
    world()->barrier();
    for (const LatticePtr& lattice : cuts) {
      const std::vector<double> expected = canonical_values(lattice->geometry(), reals);
      std::vector<double> found(expected.size());
      const SiteFieldReport report = read_site_field(path, *lattice, found.data(), reals);
      EXPECT_TRUE(found == expected) << to_string(extents);
      EXPECT_TRUE(report.checksums.front().ok().value_or(false));
    }
    world()->barrier();
  }
}

double real_trace(const Link& A, const Link& B, const Link& C, const Link& D) {  // A B C^dagger D^dagger
  const auto multiply = [](const Link& X, const Link& Y) {
    Link Z{};
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j)
        for (size_t k = 0; k < 3; ++k) Z[3 * i + j] += X[3 * i + k] * Y[3 * k + j];
    return Z;
  };
  const Link left = multiply(A, B), right = multiply(D, C);
  double sum = 0;
  for (size_t i = 0; i < 9; ++i) sum += (left[i] * std::conj(right[i])).real();
  return sum;
}

TEST(OddLattices, plaquettes_are_means_over_planes_that_exist) {
  const int ranks = world()->size();
  const Coord extents{4, 1, 4, 2 * ranks};  // it has the planes xz, xt and zt
  GaugeField U(make_lattice(extents, {1, 1, 1, ranks})), whole(testing_io::lattice_of_one(extents));
  set_hot(U, 11);
  set_hot(whole, 11);
  double sums[2] = {};
  for (int64_t i = 0; i < product(extents); ++i) {
    const Coord x = site_coord(i, extents);
    for (const auto& [mu, nu] : {std::pair{0, 2}, {0, 3}, {2, 3}}) {
      Coord ahead = x, aside = x;
      ahead[size_t(mu)] = (x[size_t(mu)] + 1) % extents[size_t(mu)];
      aside[size_t(nu)] = (x[size_t(nu)] + 1) % extents[size_t(nu)];
      sums[nu == 3] +=
          real_trace(whole.link(x, mu), whole.link(ahead, nu), whole.link(aside, mu), whole.link(x, nu)) /
          (3 * double(product(extents)));
    }
  }
  const Plaquettes P = plaquettes(U);
  EXPECT_NEAR(P.spatial, sums[0], 1e-14);
  EXPECT_NEAR(P.temporal, sums[1] / 2, 1e-14);
  EXPECT_NEAR(P.all, (sums[0] + sums[1]) / 3, 1e-14);
  EXPECT_EQ(P.all, plaquette(whole));
  EXPECT_EQ(rectangle(U), rectangle(whole));
  EXPECT_TRUE(
      std::isnan(plaquettes(GaugeField(make_lattice({1, 1, 4, 4 * ranks}, {1, 1, 1, ranks}))).spatial));
  EXPECT_EQ(link_trace(GaugeField(U.lattice_ptr())), 1.0) << "unit links";
}

TEST(OddLattices, files_of_gauge_fields_take_extents_of_one) {
  const int ranks = world()->size();
  const LatticePtr lattice = make_lattice({4, 1, 4, 2 * ranks}, {1, 1, 1, ranks});
  GaugeField U(lattice), V(lattice);
  set_hot(U, 11);
  for (const GaugeFormat format : {GaugeFormat::ildg, GaugeFormat::nersc}) {
    const std::string path = testing_io::common_name("flat_lattice");
    write_gauge_field(path, U, format, WriteOptions{});
    world()->barrier();
    EXPECT_TRUE(read_gauge_field(path, V).ok());
    EXPECT_TRUE(testing_io::canonical(U) == testing_io::canonical(V));
    world()->barrier();
  }
}

/// Returns the message of the BadArgument that f() throws; it is empty if f() throws none.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "";
}

TEST(OddLattices, quarks_flow_and_charge_refuse_extents_of_one_by_name) {
  const int ranks = world()->size();
  const GaugeField U(make_lattice({4, 4, 1, 2 * ranks}, {1, 1, 1, ranks}));
  const std::string where = "has an extent of 1 in direction z";
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"a quark operator",
                                            refusal([&] { WilsonOperator(U, WilsonParams{}); })},
        {"a quark operator", refusal([&] { HopLinks(U, Precision::half_precision, 18); })},
        {"the gradient flow", refusal([&] { GradientFlow(U, 0.0); })},
        {"topological charge", refusal([&] { topological_charge(U, ChargeDefinition::clover); })},
        {"the energy density", refusal([&] { energy_density_plaquette(U); })}}) {
    EXPECT_NE(text.find(name), std::string::npos) << text;
    EXPECT_NE(text.find(where), std::string::npos) << text;
  }
}

TEST(OddLattices, gauge_fields_refuse_odd_cuts_and_edges) {
  const int ranks = world()->size();
  if (ranks > 1) {
    const LatticePtr odd = make_lattice({4, 4, 4, 3 * ranks}, {1, 1, 1, ranks});
    const std::string text = refusal([&] { GaugeField U(odd); });
    EXPECT_NE(text.find("a gauge field needs even local extents"), std::string::npos) << text;
    EXPECT_NE(text.find("leaves 3 in direction t"), std::string::npos) << text;
  }
  const LatticePtr open = make_lattice({4, 4, 4, 2 * ranks}, {1, 1, 1, ranks}, nullptr,
                                       {Edge::periodic, Edge::periodic, Edge::periodic, Edge::open});
  EXPECT_NE(refusal([&] { GaugeField U(open); }).find("direction t"), std::string::npos);
}

}  // namespace in_test_odd_lattices
}  // namespace trellis
