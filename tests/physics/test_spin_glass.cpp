/// Heisenberg spins with couplings on bonds have the numbers of independent code, symmetries that hold bit
/// for bit, and exact averages of chains, rings and high temperatures.
#include <gtest/gtest.h>

#include "tests/support/spin_glasses.hpp"
#include "trellis/base/error.hpp"
#include "trellis/glass/observables.hpp"
#include "trellis/glass/plane_pass.hpp"
#include "trellis/glass/tempering.hpp"

namespace trellis {
namespace in_test_spin_glass {

using test::hashed_glass;
using test::HashedCouplings;
using test::make_glass;
using test::spins_of;

struct Gold {
  HashedCouplings kind;
  double energy;
  reference::Spin magnetisation_after_1, magnetisation_after_10, spin_0_after_10;
};

/// The numbers for L = 4 come from a slow code of its own in another language.
const Gold gold[] = {{HashedCouplings::ferromagnet,
                      4.558181600708139,
                      {-5.403787394298394, 1.655966770742453, -3.032434588846468},
                      {2.063401479569255, 1.7479804403043642, -6.054535637090545},
                      {-0.8636746720056395, 0.3690824674567419, -0.34328442019991756}},
                     {HashedCouplings::plus_minus,
                      8.699319604436711,
                      {5.70838724947499, -1.7855165989241377, -5.11768251546865},
                      {-5.386608419511358, 7.582870561355483, -0.8770562385700055},
                      {-0.28121838649786635, -0.9520855035282677, -0.12020571145691056}},
                     {HashedCouplings::uniform,
                      -2.937735980669561,
                      {13.875760031607562, 0.9531022864746124, -8.292425346749052},
                      {1.5284866448559393, -0.30692895843186263, -1.5716830565331423},
                      {0.034008869464064506, -0.7536872017824312, -0.6563528004565415}}};

reference::Spin sum_of(const std::vector<double>& spins) {
  reference::Spin sum{0, 0, 0};
  for (size_t i = 0; i < spins.size(); ++i) sum[i % 3] += spins[i];
  return sum;
}
void expect_near(const reference::Spin& a, const reference::Spin& b, double tolerance) {
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "component " << i;
}

TEST(SpinGlass, reference_has_the_fixed_numbers) {
  for (const Gold& g : gold) {
    reference::SpinGlass glass = hashed_glass({4, 4, 4, 1}, g.kind);
    EXPECT_NEAR(reference::energy(glass, 0), g.energy, 1e-12);
    const auto magnetisation = [&] {
      reference::Spin sum{0, 0, 0};
      for (const reference::Spin& S : glass.spins)
        for (size_t i = 0; i < 3; ++i) sum[i] += S[i];
      return sum;
    };
    reference::over_relax(glass);
    expect_near(magnetisation(), g.magnetisation_after_1, 1e-11);
    for (int sweep = 1; sweep < 10; ++sweep) reference::over_relax(glass);
    expect_near(magnetisation(), g.magnetisation_after_10, 1e-9);  // small fields amplify rounding
    expect_near(glass.spins[0], g.spin_0_after_10, 1e-9);
    EXPECT_NEAR(reference::energy(glass, 0), g.energy, 1e-11);
  }
}

TEST(SpinGlass, kernels_have_the_fixed_numbers) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 1});
  for (const Gold& g : gold)
    for (const bool may_be_signs : {true, false})
      for (const SpinGlassSpec& spec : test::all_layouts(Precision::double_precision)) {
        SpinGlass glass = make_glass(lattice, hashed_glass({4, 4, 4, 1}, g.kind), spec, may_be_signs);
        EXPECT_EQ(glass.couplings().are_signs(), may_be_signs && g.kind != HashedCouplings::uniform);
        EXPECT_NEAR(energies(glass)[0], g.energy, 1e-12);
        glass.over_relax(1);
        expect_near(sum_of(spins_of(glass)), g.magnetisation_after_1, 1e-11);
        glass.over_relax(9);
        expect_near(sum_of(spins_of(glass)), g.magnetisation_after_10,
                    1e-9);  // small fields amplify rounding
        EXPECT_NEAR(energies(glass)[0], g.energy, 1e-11);
      }
}

const Coord shapes[] = {{4, 4, 4, 2}, {2, 2, 2, 4}, {8, 4, 2, 2}, {16, 1, 1, 2}, {1, 8, 4, 1}, {6, 2, 4, 6}};

/// Returns the spins as [site][3].
std::vector<double> flat(const std::vector<reference::Spin>& spins) {
  std::vector<double> numbers;
  for (const reference::Spin& S : spins) numbers.insert(numbers.end(), S.begin(), S.end());
  return numbers;
}

TEST(SpinGlass, kernels_are_the_reference_on_every_shape) {
  const std::vector<double> betas{0.7, 2.5};
  for (const Coord& extents : shapes)
    for (const HashedCouplings kind : {HashedCouplings::plus_minus, HashedCouplings::uniform})
      for (const SpinGlassSpec& spec : test::all_layouts(Precision::double_precision, 2)) {
        SpinGlass glass = make_glass(make_lattice(extents), hashed_glass(extents, kind), spec);
        glass.over_relax(1);
        glass.heat_bath(betas, 5, 1, 3);
        glass.over_relax(1);
        for (int slot = 0; slot < 2; ++slot) {
          reference::SpinGlass expected = hashed_glass(extents, kind);
          reference::over_relax(expected);
          reference::heat_bath(expected, betas[size_t(slot)], random_key(5, 1), 3, uint32_t(slot));
          reference::over_relax(expected);
          EXPECT_LT(test::largest_difference(spins_of(glass, slot), flat(expected.spins)), 1e-10)
              << to_string(extents) << " lanes " << glass.lanes() << " slot " << slot;
        }
      }
}

TEST(SpinGlass, sums_are_those_of_the_reference) {
  const Coord extents{4, 6, 2, 4};
  const reference::SpinGlass first = hashed_glass(extents, HashedCouplings::uniform),
                             second = hashed_glass(extents, HashedCouplings::uniform, 1);
  for (const SpinGlassSpec& spec : test::all_layouts(Precision::double_precision, 2)) {
    SpinGlass glass = make_glass(make_lattice(extents), first, spec);
    glass.set_spins(flat(second.spins).data(), 1);
    const SlotPairs pair{{0, 1}};
    const std::vector<double> E = energies(glass), bonds = spin_sums(glass, SpinSums::bonds, pair),
                              q = spin_sums(glass, SpinSums::overlap, pair),
                              chirality = spin_sums(glass, SpinSums::chirality, pair),
                              M = spin_sums(glass, SpinSums::magnetisation, {{1, 1}});
    for (int sample = 0; sample < extents[3]; ++sample) {
      const size_t at = size_t(sample);
      const reference::BondSums one = reference::bond_sums(first, second, sample),
                                two = reference::bond_sums(second, first, sample);
      EXPECT_NEAR(E[2 * at], one.energy, 1e-12);
      EXPECT_NEAR(E[2 * at + 1], two.energy, 1e-12);
      EXPECT_NEAR(bonds[3 * at], one.square, 1e-12);
      EXPECT_NEAR(bonds[3 * at + 1], two.square, 1e-12);
      EXPECT_NEAR(bonds[3 * at + 2], one.product, 1e-12);
      double kappa[3] = {0, 0, 0}, sum[3] = {0, 0, 0};
      for (int64_t site = sample * 48; site < (sample + 1) * 48; ++site)
        for (int mu = 0; mu < 3; ++mu) {
          kappa[mu] += reference::chirality(first, site, mu) * reference::chirality(second, site, mu);
          sum[mu] += second.spins[size_t(site)][size_t(mu)];
        }
      for (size_t mu = 0; mu < 3; ++mu) {
        EXPECT_NEAR(chirality[21 * at + mu], kappa[mu], 1e-12);
        EXPECT_NEAR(M[21 * at + mu], sum[mu], 1e-12);
      }
      for (int mu = -1; mu < 3; ++mu)
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b < 3; ++b) {
            const auto expected = reference::overlap(first, second, a, b, mu, sample);
            const size_t row = 63 * at + size_t(3 * a + b);
            EXPECT_NEAR(q[row + (mu < 0 ? 0 : size_t(9 + 18 * mu))], expected[0], 1e-12);
            if (mu >= 0) {
              EXPECT_NEAR(q[row + size_t(18 + 18 * mu)], expected[1], 1e-12);
            }
          }
    }
  }
}

TEST(SpinGlass, bits_depend_on_no_layout) {
  const Coord extents{8, 8, 8, 2};
  for (const Precision precision : {Precision::double_precision, Precision::single_precision})
    for (const HashedCouplings kind : {HashedCouplings::plus_minus, HashedCouplings::uniform}) {
      std::vector<double> first, first_sums;
      for (const SpinGlassSpec& spec : test::all_layouts(precision, 3))
        for (const bool may_be_signs : {true, false}) {
          SpinGlass glass =
              make_glass(make_lattice(extents), hashed_glass(extents, kind), spec, may_be_signs);
          glass.heat_bath({0.3, 0.9, 7}, 1, 2, 0);
          glass.over_relax(3);
          exchange_temperatures(glass, {0.3, 0.9, 7}, 1, 2, 0);
          std::vector<double> spins;
          for (int slot = 0; slot < 3; ++slot) {
            const std::vector<double> s = spins_of(glass, slot);
            spins.insert(spins.end(), s.begin(), s.end());
          }
          const std::vector<double> sums = spin_sums(glass, SpinSums::overlap, {{0, 1}, {1, 2}});
          if (first.empty()) {
            first = spins;
            first_sums = sums;
          }
          EXPECT_EQ(spins, first) << "lanes " << glass.lanes() << " signs " << may_be_signs;
          EXPECT_EQ(sums, first_sums);
        }
    }
}

TEST(SpinGlass, order_of_a_pass_respects_what_half_sweeps_need) {
  for (const int half_sweeps : {2, 4, 6, 8})
    for (int planes = planes_of_pass(half_sweeps); planes < 40; ++planes) {
      std::vector<int> done(size_t(planes), 0);
      for_each_plane_of_pass(planes, half_sweeps, [&](int h, int plane) {
        const auto at = [&](int p) { return done[size_t((p + planes) % planes)]; };
        EXPECT_EQ(at(plane), h);
        EXPECT_GE(at(plane - 1), h);
        EXPECT_GE(at(plane + 1), h);
        EXPECT_LE(at(plane - 1), h + 1);  // the half sweep after next changes what this one reads
        EXPECT_LE(at(plane + 1), h + 1);
        ++done[size_t(plane)];
      });
      for (const int h : done) EXPECT_EQ(h, half_sweeps);
    }
}

TEST(SpinGlass, order_of_strips_respects_what_half_sweeps_need) {
  for (const int half_sweeps : {2, 4, 8})
    for (const int width : {1, 3, 8, 100}) {
      const int planes = planes_of_pass(half_sweeps) + 1, rows = planes + 4;
      std::vector<int> done(size_t(planes * rows), 0);
      const auto at = [&](int p, int r) -> int& {
        return done[size_t((p + planes) % planes * rows + (r + rows) % rows)];
      };
      int wrong = 0;
      for_each_strip_of_pass(planes, rows, width, half_sweeps, [&](int h, int plane, int first, int end) {
        for (int row = first; row < end; ++row) {
          wrong += at(plane, row) == h ? 0 : 1;
          for (const auto& [p, r] :
               {std::pair{plane - 1, row}, {plane + 1, row}, {plane, row - 1}, {plane, row + 1}})
            wrong += at(p, r) == h || at(p, r) == h + 1 ? 0 : 1;
        }
        for (int row = first; row < end; ++row) ++at(plane, row);
      });
      EXPECT_EQ(wrong, 0) << half_sweeps << " half sweeps, width " << width;
      for (const int h : done) EXPECT_EQ(h, half_sweeps);
    }
}

TEST(SpinGlass, several_sweeps_a_pass_have_the_bits_of_single_ones) {
  for (const Coord& extents : {Coord{32, 32, 32, 1}, Coord{8, 32, 4, 2}, Coord{4, 4, 64, 4}})
    for (const HashedCouplings kind : {HashedCouplings::plus_minus, HashedCouplings::uniform})
      for (const SpinGlassSpec& spec : test::all_layouts(Precision::single_precision)) {
        const reference::SpinGlass start = hashed_glass(extents, kind);
        SpinGlass single = make_glass(make_lattice(extents), start, spec);
        single.over_relax(5, 1);
        for (const int together : {2, 3, 4}) {
          SpinGlass glass = make_glass(make_lattice(extents), start, spec);
          glass.over_relax(5, together);
          EXPECT_EQ(spins_of(glass), spins_of(single)) << to_string(extents) << " " << together;
        }
      }
}

/// Changes S -> e S and J -> e e' J for signs e of the sites.
reference::SpinGlass gauge_transformed(reference::SpinGlass glass) {
  const auto sign = [](int64_t site) { return test::hashed(uint64_t(site) + 99) < 0.5 ? -1.0 : 1.0; };
  for (int64_t site = 0; site < product(glass.extents); ++site)
    for (int mu = 0; mu < 3; ++mu) {
      glass.spins[size_t(site)][size_t(mu)] *= sign(site);
      Coord x = site_coord(site, glass.extents);
      x[mu] = (x[mu] + 1) % glass.extents[mu];
      glass.couplings[size_t(site)][size_t(mu)] *= sign(site) * sign(site_index(x, glass.extents));
    }
  return glass;
}

TEST(SpinGlass, updates_commute_with_signs_bit_for_bit) {
  const Coord extents{8, 4, 4, 2};
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    reference::SpinGlass start = hashed_glass(extents, HashedCouplings::uniform);
    for (size_t i = 0; i < 20; ++i) start.couplings[i] = {0, 0, 0};  // these sites have no field
    const SpinGlassSpec spec{precision, Backend::cpu, 0, 1};
    SpinGlass glass = make_glass(make_lattice(extents), start, spec),
              other = make_glass(make_lattice(extents), gauge_transformed(start), spec);
    for (SpinGlass* g : {&glass, &other}) {
      g->over_relax(2);
      g->heat_bath({1.3}, 4, 0, 0);
      g->over_relax(2);
    }
    reference::SpinGlass result = start;
    const std::vector<double> spins = spins_of(glass);
    for (size_t i = 0; i < spins.size(); ++i) result.spins[i / 3][i % 3] = spins[i];
    EXPECT_EQ(flat(gauge_transformed(result).spins), spins_of(other));
  }
}

TEST(SpinGlass, over_relaxation_keeps_the_energy_and_turns_back) {
  const Coord extents{8, 8, 8, 1};
  const reference::SpinGlass start = hashed_glass(extents, HashedCouplings::uniform);
  SpinGlass single = make_glass(make_lattice(extents), start, {.precision = Precision::single_precision});
  const double before = energies(single)[0];
  single.over_relax(500);
  EXPECT_NEAR(energies(single)[0], before, 512 * 2e-6);
  // A step in x exchanges the parities, so that the next sweep undoes the last.
  const auto stepped = [&](const std::vector<reference::Spin>& from, int step) {
    std::vector<reference::Spin> to(from.size());
    for (int64_t site = 0; site < product(extents); ++site) {
      Coord x = site_coord(site, extents);
      x[0] = (x[0] + step + extents[0]) % extents[0];
      to[size_t(site_index(x, extents))] = from[size_t(site)];
    }
    return to;
  };
  SpinGlass glass = make_glass(make_lattice(extents), start, {.precision = Precision::double_precision});
  glass.over_relax(1);
  reference::SpinGlass moved = start;
  const std::vector<double> spins = spins_of(glass);
  for (size_t i = 0; i < spins.size(); ++i) moved.spins[i / 3][i % 3] = spins[i];
  moved.spins = stepped(moved.spins, 1);
  moved.couplings = stepped(moved.couplings, 1);
  SpinGlass back = make_glass(make_lattice(extents), moved, {.precision = Precision::double_precision});
  back.over_relax(1);
  const std::vector<double> end = spins_of(back);
  for (size_t i = 0; i < end.size(); ++i) moved.spins[i / 3][i % 3] = end[i];
  EXPECT_LT(test::largest_difference(flat(stepped(moved.spins, -1)), flat(start.spins)), 1e-9);
}

/// This struct holds the mean of S . S' over the bonds in x from x = bond, over all samples and sweeps, with
/// its error from the scatter of samples.
struct Estimate {
  double mean, error;
};
Estimate bond_average(SpinGlass& glass, double beta, int bond, int sweeps) {
  const Coord& L = glass.lattice().extents();
  std::vector<double> of_sample(size_t(L[3]), 0);
  for (int sweep = 0; sweep < sweeps + 50; ++sweep) {
    glass.heat_bath({beta}, 11, 0, uint32_t(sweep));
    glass.over_relax(1);
    if (sweep < 50) continue;
    const std::vector<double> S = spins_of(glass);
    for (int sample = 0; sample < L[3]; ++sample) {
      const double *here = &S[3 * size_t(sample * L[0] + bond)],
                   *there = &S[3 * size_t(sample * L[0] + (bond + 1) % L[0])];
      of_sample[size_t(sample)] += (here[0] * there[0] + here[1] * there[1] + here[2] * there[2]) / sweeps;
    }
  }
  double mean = 0, square = 0;
  for (const double x : of_sample) {
    mean += x / L[3];
    square += x * x / L[3];
  }
  return {mean, std::sqrt((square - mean * mean) / L[3])};
}

/// Makes a ring of n sites in x and 512 samples of it, with these couplings.
SpinGlass ring(const std::vector<double>& couplings) {
  const int n = int(couplings.size());
  reference::SpinGlass start = hashed_glass({n, 1, 1, 512}, HashedCouplings::ferromagnet);
  for (size_t i = 0; i < start.couplings.size(); ++i) start.couplings[i][0] = couplings[i % size_t(n)];
  return make_glass(make_lattice(start.extents), start, {.precision = Precision::double_precision});
}

TEST(SpinGlass, bonds_and_rings_have_their_exact_averages) {
  // With one bond (of two between the same sites the other is 0) the mean is coth K - 1 / K. For rings it
  // follows from sum_l (2 l + 1) i_l(K)^n.
  const struct {
    std::vector<double> couplings;
    double beta;
    int bond;
    double exact;
  } cases[] = {{{1, 0}, 0.5, 0, 0.1639534137},
               {{1, 0}, 1, 0, 0.3130352855},
               {{1, 0}, 2, 0, 0.5373147207},
               {{0.5, 0.5}, 1, 0, 0.3130352855},  // both bonds join two sites
               {{1, 1, 1, 1}, 0.5, 0, 0.1681409818},
               {{1, 1, 1, 1}, 1, 1, 0.3378378042},
               {{1, 1, 1, 1}, 2, 2, 0.6058915699},
               {{1, 1, 1, 1, 1, 1}, 1, 5, 0.3155170283},
               {{1, 1, 1, 1, 1, 1}, 2, 0, 0.5592930512},
               {{1, -1, 0.5, 0.7}, 1.3, 0, 0.3733766475},
               {{1, -1, 0.5, 0.7}, 1.3, 1, -0.3733766475},
               {{1, -1, 0.5, 0.7}, 1.3, 2, 0.1692724148},
               {{1, -1, 0.5, 0.7}, 1.3, 3, 0.2596054855}};
  for (const auto& c : cases) {
    SpinGlass glass = ring(c.couplings);
    const Estimate found = bond_average(glass, c.beta, c.bond, 200);
    EXPECT_LT(found.error, 0.004);
    EXPECT_NEAR(found.mean, c.exact, 4 * found.error)
        << "beta " << c.beta << " bond " << c.bond << " of " << c.couplings.size();
  }
}

TEST(SpinGlass, high_temperature_has_the_energy_of_single_bonds) {
  // Closed loops average out over signs: the energy a site is -3 (coth b - 1 / b) + O(b^7).
  SpinGlass glass(make_lattice({8, 8, 8, 32}), {});
  glass.draw_all_couplings(CouplingKind::plus_minus, 3, 0);
  glass.randomise(3, 0);
  const double beta = 0.6, expected = -3 * (1 / std::tanh(beta) - 1 / beta);
  std::vector<double> of_sample(32, 0);
  for (int sweep = 0; sweep < 120; ++sweep) {
    glass.heat_bath({beta}, 3, 0, uint32_t(sweep));
    glass.over_relax(2);
    if (sweep < 20) continue;
    const std::vector<double> E = energies(glass);
    for (size_t sample = 0; sample < 32; ++sample) of_sample[sample] += E[sample] / 512 / 100;
  }
  double mean = 0, square = 0;
  for (const double e : of_sample) {
    mean += e / 32;
    square += e * e / 32;
  }
  const double error = std::sqrt((square - mean * mean) / 31);
  EXPECT_LT(error, 0.002);
  EXPECT_NEAR(mean, expected, 0.001 + 4 * error);
}

TEST(SpinGlass, tempering_exchanges_whole_sets_of_spins) {
  const Coord extents{4, 4, 2, 8};
  const std::vector<double> betas{0.2, 0.25, 0.3};
  for (const SpinGlassSpec& spec : test::all_layouts(Precision::single_precision, 6)) {
    SpinGlass glass(make_lattice(extents), spec);
    glass.draw_all_couplings(CouplingKind::gaussian, 8, 0);
    glass.randomise(8, 0);
    for (uint32_t step = 0; step < 4; ++step) {
      const std::vector<double> before = energies(glass);
      std::vector<std::vector<double>> spins;
      for (int slot = 0; slot < 6; ++slot) spins.push_back(spins_of(glass, slot));
      const ExchangeStep result = exchange_temperatures(glass, betas, 8, 0, step);
      ASSERT_EQ(result.pairs, (step % 2 == 0 ? SlotPairs{{0, 1}, {3, 4}} : SlotPairs{{1, 2}, {4, 5}}));
      EXPECT_EQ(result.energies, energies(glass));
      int exchanged = 0;
      for (int sample = 0; sample < extents[3]; ++sample)
        for (size_t pair = 0; pair < 2; ++pair) {
          const auto [a, b] = result.pairs[pair];
          if (result.is_exchanged[size_t(sample) * 2 + pair] == 0) continue;
          ++exchanged;
          EXPECT_EQ(result.energies[size_t(sample * 6 + a)], before[size_t(sample * 6 + b)]);
          for (size_t i = size_t(sample) * 96; i < size_t(sample + 1) * 96; ++i)
            std::swap(spins[size_t(a)][i], spins[size_t(b)][i]);
        }
      EXPECT_GT(exchanged, 4);
      for (int slot = 0; slot < 6; ++slot) EXPECT_EQ(spins_of(glass, slot), spins[size_t(slot)]);
    }
  }
}

TEST(SpinGlass, couplings_and_spins_are_drawn_as_the_page_says) {
  const LatticePtr lattice = make_lattice({16, 16, 16, 2});
  SpinGlass glass(lattice, {.precision = Precision::double_precision, .slots = 2});
  for (const CouplingKind kind :
       {CouplingKind::gaussian, CouplingKind::plus_minus, CouplingKind::ferromagnet}) {
    glass.draw_all_couplings(kind, 5, 6);
    const std::vector<double> J = glass.couplings().to_canonical();
    double sum = 0, square = 0;
    for (size_t i = 0; i < J.size(); ++i) {
      EXPECT_EQ(J[i], draw_couplings(kind, random_key(5, 6), int64_t(i) / 3)[i % 3]);
      sum += J[i] / double(J.size());
      square += J[i] * J[i] / double(J.size());
    }
    EXPECT_NEAR(sum, kind == CouplingKind::ferromagnet ? 1 : 0, 0.03);
    EXPECT_NEAR(square, 1, 0.05);
  }
  glass.randomise(5, 6);
  for (int slot = 0; slot < 2; ++slot) {
    const std::vector<double> S = spins_of(glass, slot);
    for (size_t i = 0; i < S.size(); i += 3)
      EXPECT_NEAR(S[i] * S[i] + S[i + 1] * S[i + 1] + S[i + 2] * S[i + 2], 1, 1e-14);
    for (const double s : sum_of(S)) EXPECT_LT(std::abs(s), 5 * std::sqrt(8192 / 3.0));
  }
  EXPECT_NE(spins_of(glass, 0), spins_of(glass, 1));
}

TEST(SpinGlass, bad_input_is_refused) {
  EXPECT_THROW(SpinGlass(make_lattice({1, 1, 1, 4}), {}), BadArgument);
  EXPECT_THROW(SpinGlass(make_lattice({4, 4, 4, 1}), {.precision = Precision::half_precision}), BadArgument);
  EXPECT_THROW(SpinGlass(make_lattice({4, 4, 4, 1}), {.slots = 0}), BadArgument);
  EXPECT_THROW(coupling_kind_from_name("ising"), BadArgument);
  SpinGlass glass(make_lattice({4, 4, 4, 1}), {.slots = 2});
  EXPECT_THROW(glass.over_relax(1), BadArgument);  // there are no couplings yet
  glass.draw_all_couplings(CouplingKind::ferromagnet, 1, 1);
  EXPECT_THROW(glass.heat_bath({1.0}, 1, 1, 0), BadArgument);
  EXPECT_THROW(glass.heat_bath({1.0, -1.0}, 1, 1, 0), BadArgument);
  EXPECT_THROW(glass.over_relax(-1), BadArgument);
  EXPECT_THROW(exchange_temperatures(glass, {1, 2, 3}, 1, 1, 0), BadArgument);
  EXPECT_THROW(spin_sums(glass, SpinSums::overlap, {{0, 2}}), BadArgument);
}

}  // namespace in_test_spin_glass
}  // namespace trellis
