/// The Wilson hop and the operators built on it equal reference/ in double, and have the same bits for every
/// lane count and for the GPU layout.
#include <gtest/gtest.h>

#include "reference/wilson.hpp"
#include "tests/support/column_sums.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace in_test_wilson_hop {

struct Physics {
  const char* name;
  WilsonParams params;
};

std::vector<Physics> all_physics() {
  WilsonParams plain, clover, anisotropic, twisted, twisted_clover, phases, dirichlet;
  plain.mass = 0.1;
  clover.mass = -0.2;
  clover.csw_spatial = clover.csw_temporal = 1.7;
  anisotropic.mass = -0.05;
  anisotropic.nu = 0.95;
  anisotropic.xi0 = 2.464;
  anisotropic.csw_spatial = 0.91;
  anisotropic.csw_temporal = 1.07;
  twisted.twisted_mass = 0.3;
  twisted_clover = clover;
  twisted_clover.twisted_mass = 0.25;
  phases.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, std::polar(1.0, 2.0)};
  dirichlet.boundary = {1.0, 1.0, 1.0, 0.0};
  return {{"plain", plain},
          {"clover", clover},
          {"anisotropic", anisotropic},
          {"twisted", twisted},
          {"twisted_clover", twisted_clover},
          {"phases", phases},
          {"dirichlet", dirichlet}};
}

reference::WilsonParameters to_reference_params(const WilsonParams& p) {
  reference::WilsonParameters r;
  r.mass = p.mass;
  r.boundary = p.boundary;
  r.c_r = p.csw_spatial;
  r.c_t = p.csw_temporal;
  r.nu = p.nu;
  r.xi0 = p.xi0;
  r.twisted_mass = p.twisted_mass;
  return r;
}

class WilsonHopTest : public ::testing::TestWithParam<Coord> {
 protected:
  LatticePtr lattice = make_lattice(GetParam());
  reference::Gauge U = test::random_gauge(GetParam(), 11);
  reference::SpinorVector psi = test::random_spinors(GetParam(), 12);

  /// Returns all physics. The large lattice is there for its walk and takes two: that with most terms, and
  /// phases.
  std::vector<Physics> physics() const {
    std::vector<Physics> all = all_physics();
    if (lattice->volume() > 4096) all = {all[4], all[5]};
    return all;
  }
  /// Returns M psi (or its dagger) by the product, in canonical order, of right-hand side 0.
  std::vector<double> apply(const WilsonParams& params, const KernelChoice& choice, bool is_dagger,
                            int rhs = 1) {
    const WilsonOperator M(test::to_product(lattice, U), params, choice);
    SpinorField in = M.make_field(rhs), out = M.make_field(rhs);
    for (int r = 0; r < rhs; ++r) test::to_product(in, psi, r);
    is_dagger ? M.apply_dagger(out, in) : M.apply(out, in);
    const auto first = test::canonical_part(out, 0);
    for (int r = 1; r < rhs; ++r) EXPECT_EQ(first, test::canonical_part(out, r)) << "right-hand side " << r;
    return first;
  }
  double error(const std::vector<double>& found, const reference::SpinorVector& expected) {
    reference::SpinorVector f(expected.size());
    std::memcpy(f.data(), found.data(), found.size() * sizeof(double));
    return test::relative_error(f, expected);
  }
};

TEST_P(WilsonHopTest, equals_reference_in_every_storage) {
  for (const Physics& p : physics()) {
    const reference::WilsonOperator D(U, to_reference_params(p.params));
    for (const bool is_dagger : {false, true}) {
      const auto expected = is_dagger ? D.apply_dagger(psi) : D.apply(psi);
      for (const int link_reals : {18, 12, 8}) {
        KernelChoice choice;
        choice.link_reals = link_reals;
        EXPECT_LT(error(apply(p.params, choice, is_dagger), expected), test::rounding(50))
            << p.name << is_dagger;
        choice.precision = Precision::single_precision;
        EXPECT_LT(error(apply(p.params, choice, is_dagger), expected), test::rounding<float>(50)) << p.name;
        // In 16 bits, links and the spinors in and out each round to half a unit of 1/32767 of the largest
        // component.
        choice.precision = Precision::half_precision;
        // With 8 reals links round to 2.1 units.
        EXPECT_LT(error(apply(p.params, choice, is_dagger), expected), 10.0 / 32767) << p.name;
        if (link_reals == 8) continue;
        choice.precision = Precision::fp16_precision;  // each rounds to half a unit of 2^-11 of itself
        EXPECT_LT(error(apply(p.params, choice, is_dagger), expected), 2.0 / 2048) << p.name;
      }
    }
  }
}

TEST_P(WilsonHopTest, has_the_same_bits_for_every_lane_count_and_layout) {
  for (const Physics& p : physics())
    for (const Precision precision : all_precisions)
      for (const int link_reals : {18, 12, 8})
        for (const bool is_dagger : {false, true}) {
          if ((link_reals == 8 && is_dagger) || !has_link_storage(precision, link_reals)) continue;
          const KernelChoice one{precision, link_reals, Backend::cpu, 1};
          const auto expected = apply(p.params, one, is_dagger);
          for (const int lanes : {4, 8, 16})
            EXPECT_EQ(expected, apply(p.params, {precision, link_reals, Backend::cpu, lanes}, is_dagger))
                << p.name << " " << name_of(precision) << " " << link_reals << " lanes " << lanes;
          EXPECT_EQ(expected, apply(p.params, {precision, link_reals, Backend::gpu_emulated, 1}, is_dagger))
              << p.name << " " << name_of(precision) << " " << link_reals << " GPU layout";
        }
}

TEST_P(WilsonHopTest, treats_right_hand_sides_alike) {
  const auto single = apply(all_physics()[1].params, {}, false, 1);
  EXPECT_EQ(single, apply(all_physics()[1].params, {}, false, 3));
}

TEST_P(WilsonHopTest, gives_each_right_hand_side_the_bits_it_has_alone) {
  WilsonParams params;  // these have legs that are not plain
  params.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, std::polar(1.0, 2.0)};
  constexpr int rhs = 11;
  for (const Precision precision : all_precisions)
    for (const int link_reals : {18, 12, 8}) {
      if (!has_link_storage(precision, link_reals)) continue;
      const WilsonOperator M(test::to_product(lattice, U), params, {precision, link_reals});
      SpinorField in = M.make_field(rhs), out = M.make_field(rhs);
      for (int r = 0; r < rhs; ++r) test::to_product(in, test::random_spinors(GetParam(), 30 + r), r);
      M.apply(out, in);
      for (const int r : {0, 5, 6, 10}) {
        SpinorField one = M.make_field(), found = M.make_field();
        test::to_product(one, test::random_spinors(GetParam(), 30 + r), 0);
        M.apply(found, one);
        EXPECT_EQ(test::canonical_part(found, 0), test::canonical_part(out, r)) << name_of(precision) << r;
      }
    }
}

TEST_P(WilsonHopTest, sums_norms_while_it_writes) {
  for (const Physics& p : physics())
    for (const Precision precision : all_precisions)
      for (const SchurForm form : {SchurForm::asymmetric, SchurForm::symmetric})
        for (const int rhs : {1, 3}) {
          const KernelChoice choice{precision, 12, rhs == 1 ? Backend::cpu : Backend::gpu_emulated};
          const WilsonSchur S(std::make_shared<WilsonMatrix>(test::to_product(lattice, U), p.params, choice),
                              form);
          const WilsonOperator M(test::to_product(lattice, U), p.params, choice);
          SpinorField full = M.make_field(rhs), in = S.make_field(rhs), out = S.make_field(rhs),
                      again = S.make_field(rhs);
          for (int r = 0; r < rhs; ++r) test::to_product(full, test::random_spinors(GetParam(), 40 + r), r);
          extract_parity(in, full);
          for (const bool is_dagger : {false, true}) {
            const Coefficients found = test::apply_with_norm2(S, out, in, is_dagger);
            is_dagger ? S.apply_dagger(again, in) : S.apply(again, in);
            EXPECT_EQ(norm2_each(again), found) << p.name << name_of(precision) << rhs;
            EXPECT_EQ(norm2_each(out), found) << p.name << name_of(precision) << rhs;
          }
        }
}

TEST_P(WilsonHopTest, is_gamma5_hermitian) {
  // The dagger has <chi, M psi> = <M^dagger chi, psi>, and M^dagger = gamma5 M gamma5 holds unless M is
  // twisted (then it is that of M with -mu).
  const auto chi = test::random_spinors(GetParam(), 13);
  const GammaMatrix gamma5 = gamma_product(15);
  for (const Physics& p : all_physics()) {
    const WilsonOperator M(test::to_product(lattice, U), p.params);
    SpinorField a = M.make_field(), b = M.make_field(), Ma = M.make_field(), Mb = M.make_field();
    test::to_product(a, psi);
    test::to_product(b, chi);
    M.apply(Ma, a);
    M.apply_dagger(Mb, b);
    EXPECT_LT(std::abs(dot(b, Ma) - dot(Mb, a)), test::rounding(100) * std::sqrt(norm2(b) * norm2(Ma)))
        << p.name;
    WilsonParams opposite = p.params;
    opposite.twisted_mass = -opposite.twisted_mass;
    test::to_product(b, reference::multiply(gamma5, psi));
    WilsonOperator(test::to_product(lattice, U), opposite).apply(Mb, b);
    M.apply_dagger(Ma, a);
    EXPECT_LT(
        test::relative_error(reference::multiply(gamma5, test::to_reference(Mb)), test::to_reference(Ma)),
        test::rounding(50))
        << p.name;
  }
}

TEST_P(WilsonHopTest, twisted_clover_becomes_clover_and_twisted_mass) {
  // The smallest mu and csw take the general way, and change nothing that double precision holds.
  const GaugeField links = test::to_product(lattice, U);
  for (const bool is_clover : {true, false}) {
    WilsonParams limit = all_physics()[is_clover ? 1 : 3].params, general = limit;
    if (is_clover)
      general.twisted_mass = 1e-30;
    else
      general.csw_spatial = general.csw_temporal = 1e-30;
    const WilsonMatrix A(links, limit, {}), B(links, general, {});
    SpinorField x = A.hop().make_field(Subset::full, 1), expected = SpinorField::like(x), found = expected;
    test::to_product(x, psi);
    using Apply = void (WilsonMatrix::*)(SpinorField&, const SpinorField&, int, bool) const;
    for (const Apply apply : {&WilsonMatrix::apply_diagonal, &WilsonMatrix::apply_diagonal_inverse})
      for (const bool is_dagger : {false, true}) {
        for (int parity = 0; parity < 2; ++parity) {
          (A.*apply)(expected, x, parity, is_dagger);
          (B.*apply)(found, x, parity, is_dagger);
        }
        EXPECT_LT(test::relative_error(test::to_reference(found), test::to_reference(expected)),
                  test::rounding(500))
            << (is_clover ? "clover" : "twisted") << is_dagger;
      }
  }
}

TEST_P(WilsonHopTest, schur_complements_reproduce_the_full_operator) {
  // For x chosen at random, S x_e = prepared source, and x_o reconstructed, must give M x = b.
  for (const Physics& p : all_physics())
    for (const SchurForm form : {SchurForm::asymmetric, SchurForm::symmetric})
      for (const int parity : {0, 1}) {
        const auto matrix =
            std::make_shared<WilsonMatrix>(test::to_product(lattice, U), p.params, KernelChoice{});
        const WilsonOperator M(matrix);
        const WilsonSchur S(matrix, form, parity);
        SpinorField x = M.make_field(), b = M.make_field(), rebuilt = M.make_field();
        test::to_product(x, psi);
        M.apply(b, x);
        SpinorField xe = S.make_field(), be = S.make_field(), Sx = S.make_field();
        extract_parity(xe, x);
        S.prepare_source(be, b);
        S.apply(Sx, xe);
        combine(Sx, 1.0, Sx, -1.0, be);
        EXPECT_LT(std::sqrt(norm2(Sx) / norm2(be)), test::rounding(500)) << p.name;
        S.reconstruct(rebuilt, xe, b);
        combine(rebuilt, 1.0, rebuilt, -1.0, x);
        EXPECT_LT(std::sqrt(norm2(rebuilt) / norm2(x)), test::rounding(500)) << p.name;
        // The dagger has <y, S x> = <S^dagger y, x>.
        SpinorField y = S.make_field(), Sy = S.make_field();
        extract_parity(y, b);
        S.apply(Sx, xe);
        S.apply_dagger(Sy, y);
        EXPECT_LT(std::abs(dot(y, Sx) - dot(Sy, xe)), test::rounding(500) * std::sqrt(norm2(y) * norm2(Sx)))
            << p.name;
      }
}

INSTANTIATE_TEST_SUITE_P(Lattices, WilsonHopTest,
                         ::testing::Values(Coord{4, 4, 4, 4}, Coord{2, 4, 6, 8}, Coord{8, 4, 2, 6},
                                           Coord{2, 2, 2, 2}, Coord{12, 4, 8, 4},
                                           Coord{16, 16, 16, 2}),  // this one is visited in columns
                         [](const auto& info) { return to_string(info.param); });

}  // namespace in_test_wilson_hop
}  // namespace trellis
