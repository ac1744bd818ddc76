/// Domain-wall operators equal reference/ in every storage, and have the same bits for every lane count and
/// for the GPU layout. Gauge covariance, Gamma5 R hermiticity, plane waves and Schur complements hold.
#include <gtest/gtest.h>

#include <numbers>

#include "tests/support/column_sums.hpp"
#include "tests/support/five_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {
namespace in_test_domain_wall {

using reference::FiveVector;

std::vector<DomainWallParams> all_physics() {
  DomainWallParams phases = test::moebius(0.03, 6, 1.5, 0.5);
  phases.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, std::polar(1.0, 2.0)};
  phases.M5 = 1.3;
  DomainWallParams slices = test::moebius(0.08, 5, 1.0, 0.0);  // zMoebius has real coefficients here
  slices.b5 = {1.5, 1.2, 1.1, 1.7, 0.9};
  slices.c5 = {0.5, 0.2, 0.1, 0.7, 0.0};
  DomainWallParams complex = test::moebius(0.11, 4, 1.0, 0.0);  // this one is zMoebius
  complex.b5 = {{1.3, 0.4}, {0.9, -0.7}, {1.6, 0.2}, {0.8, 0.1}};
  complex.c5 = {{0.3, 0.4}, {0.1, -0.7}, {0.6, -0.3}, {0.2, 0.5}};
  DomainWallParams one_complex = test::moebius(0.07, 3, 1.0, 0.0);
  one_complex.b5 = {{1.2, -0.5}};
  DomainWallParams anisotropic = test::moebius(0.06, 4, 1.5, 0.5);
  anisotropic.nu = 1.2;
  anisotropic.xi0 = 2.3;
  anisotropic.M5 = 0.9;
  return {slices,
          test::moebius(0.1, 4, 1.0, 0.0),
          test::moebius(0.05, 8, 1.5, 0.5),
          test::moebius(0.2, 3, 2.0, 1.0),
          phases,
          complex,
          one_complex,
          anisotropic};
}

class DomainWallTest : public ::testing::TestWithParam<Coord> {
 protected:
  LatticePtr lattice = make_lattice(GetParam());
  reference::Gauge U = test::random_gauge(GetParam(), 11);

  void expect_plane_waves(DomainWallParams p);

  /// Returns D5 psi (or its dagger) by the product; all right-hand sides must agree bit for bit.
  SpinorField apply(const DomainWallParams& params, const KernelChoice& choice, const FiveVector& psi,
                    bool is_dagger, int rhs = 1) {
    const DomainWallOperator D(test::to_product(lattice, U), params, choice);
    SpinorField in = D.make_field(rhs), out = D.make_field(rhs);
    for (int r = 0; r < rhs; ++r) test::to_product(in, psi, r);
    is_dagger ? D.apply_dagger(out, in) : D.apply(out, in);
    for (int r = 1; r < rhs; ++r) EXPECT_EQ(test::canonical_five(out, 0), test::canonical_five(out, r));
    return out;
  }
};

TEST_P(DomainWallTest, equals_reference_in_every_storage) {
  for (const DomainWallParams& p : all_physics()) {
    const FiveVector psi = test::random_five(GetParam(), p.Ls, 12);
    const reference::DomainWallOperator D(U, test::to_reference_params(p));
    for (const bool is_dagger : {false, true}) {
      const FiveVector expected = is_dagger ? D.apply_dagger(psi) : D.apply(psi);
      for (const Backend backend : {Backend::cpu, Backend::gpu_emulated}) {
        KernelChoice choice{Precision::double_precision, 18, backend, 0};
        EXPECT_LT(reference::relative_error(test::to_five(apply(p, choice, psi, is_dagger, 2)), expected),
                  test::rounding(100));
        choice.precision = Precision::single_precision;
        EXPECT_LT(reference::relative_error(test::to_five(apply(p, choice, psi, is_dagger)), expected),
                  test::rounding<float>(100));
        // In 16 bits, links and the spinors in, between and out round to half a unit of 1/32767.
        choice.precision = Precision::half_precision;
        EXPECT_LT(reference::relative_error(test::to_five(apply(p, choice, psi, is_dagger)), expected),
                  20.0 / 32767);
        choice.precision = Precision::fp16_precision;
        EXPECT_LT(reference::relative_error(test::to_five(apply(p, choice, psi, is_dagger)), expected),
                  3.0 / 2048);
      }
    }
  }
}

TEST_P(DomainWallTest, has_the_same_bits_for_every_lane_count_and_layout) {
  for (const DomainWallParams& p : all_physics()) {
    const FiveVector psi = test::random_five(GetParam(), p.Ls, 13);
    for (const Precision precision : all_precisions)
      for (const bool is_dagger : {false, true}) {
        const auto expected =
            test::canonical_five(apply(p, {precision, 18, Backend::cpu, 1}, psi, is_dagger));
        for (const int lanes : {4, 8, 16})
          EXPECT_EQ(expected,
                    test::canonical_five(apply(p, {precision, 18, Backend::cpu, lanes}, psi, is_dagger)))
              << name_of(precision) << " lanes " << lanes;
        EXPECT_EQ(expected,
                  test::canonical_five(apply(p, {precision, 18, Backend::gpu_emulated, 1}, psi, is_dagger)))
            << name_of(precision) << " GPU layout";
      }
  }
}

/// GPUs have kernels of their own for some lengths of the fifth dimension, and take the others in another
/// way.
TEST_P(DomainWallTest, schur_complements_have_the_same_bits_in_the_GPU_layout_at_every_length) {
  for (const int Ls : {7, 8, 10, 12, 16, 20, 24, 32})
    for (const Precision precision : all_precisions)
      for (const SchurForm form : {SchurForm::asymmetric, SchurForm::symmetric})
        for (const bool is_dagger : {false, true}) {
          const FiveVector psi = test::random_five(GetParam(), Ls, 19);
          const auto applied = [&](Backend backend) {
            const DomainWallSchur S(std::make_shared<DomainWallMatrix>(
                                        test::to_product(lattice, U), test::moebius(0.05, Ls, 1.5, 0.5),
                                        KernelChoice{precision, 12, backend, 1}),
                                    form);
            SpinorField full(S.domain_lattice(), S.full()->domain(2));
            SpinorField in = S.make_field(2), out = S.make_field(2);
            for (int r = 0; r < 2; ++r) test::to_product(full, psi, r);
            extract_parity(in, full);
            is_dagger ? S.apply_dagger(out, in) : S.apply(out, in);
            const auto first = test::canonical_five(out, 0);
            EXPECT_EQ(first, test::canonical_five(out, 1));
            if (backend == Backend::cpu) return first;
            for (int way = 0; way < 4; ++way) {  // the hop and the fifth dimension are launched in all ways
              is_dagger ? S.apply_dagger(out, in) : S.apply(out, in);
              EXPECT_EQ(first, test::canonical_five(out, 1)) << "way " << way;
            }
            return first;
          };
          EXPECT_EQ(applied(Backend::cpu), applied(Backend::gpu_emulated))
              << name_of(precision) << ", Ls " << Ls << ", form " << int(form) << ", dagger " << is_dagger;
        }
}

TEST_P(DomainWallTest, is_gauge_covariant) {
  const DomainWallParams p = all_physics()[2];
  const auto g = test::random_transformation(GetParam(), 14);
  const auto rotated = [&](FiveVector v) {
    for (auto& slice : v)
      for (size_t x = 0; x < slice.size(); ++x) slice[x] = reference::operator*(g[x], slice[x]);
    return v;
  };
  const FiveVector psi = test::random_five(GetParam(), p.Ls, 15);
  const FiveVector right = rotated(test::to_five(apply(p, {}, psi, false)));
  U = reference::gauge_transformed(U, g);
  EXPECT_LT(reference::relative_error(test::to_five(apply(p, {}, rotated(psi), false)), right),
            test::rounding(100));
}

/// D5 Gamma5 R D_-^dagger = D_- Gamma5 R D5^dagger holds, where R is the reflection of the slices (Shamir:
/// D_- = 1).
TEST_P(DomainWallTest, is_gamma5_R_hermitian) {
  const GammaMatrix gamma5 = gamma_product(15);
  for (const DomainWallParams& p : all_physics()) {
    if (p.b5.size() > 1 || p.b(0).imag() != 0) continue;  // needs coefficients that the adjoint leaves alone
    const DomainWallOperator D(test::to_product(lattice, U), p);
    const FiveVector psi = test::random_five(GetParam(), p.Ls, 16);
    const auto times_gamma5 = [&](FiveVector v) {
      for (auto& slice : v) slice = reference::multiply(gamma5, slice);
      return v;
    };
    const auto reflected = [&](FiveVector v) {
      std::reverse(v.begin(), v.end());
      return times_gamma5(v);
    };
    SpinorField in = D.make_field(), out = D.make_field();
    const auto apply = [&](const FiveVector& v, auto f) {
      test::to_product(in, v);
      f();
      return test::to_five(out);
    };
    const auto D_minus = [&](const FiveVector& v) {
      return apply(v, [&] { D.matrix()->apply_D_minus(out, in); });
    };
    const FiveVector D_minus_dagger = times_gamma5(D_minus(times_gamma5(psi)));
    const FiveVector left = apply(reflected(D_minus_dagger), [&] { D.apply(out, in); });
    const FiveVector right = D_minus(reflected(apply(psi, [&] { D.apply_dagger(out, in); })));
    EXPECT_LT(reference::relative_error(left, right), test::rounding(100));
  }
}

/// On unit links D_W(-M5) exp(i p x) w = [-M5 + sum a (1 - cos p) + i sum a gamma sin p] exp(i p x) w holds,
/// with a = nu/xi0 in space and 1 in time.
void DomainWallTest::expect_plane_waves(DomainWallParams p) {
  const std::array<double, 4> a{p.nu / p.xi0, p.nu / p.xi0, p.nu / p.xi0, 1.0};
  const std::array<double, 4> theta{0.4, 0.0, std::numbers::pi, std::numbers::pi};
  for (size_t mu = 0; mu < 4; ++mu) p.boundary[mu] = std::polar(1.0, theta[mu]);
  test::Random random(17);
  std::array<double, 4> k{};
  for (int mu = 0; mu < 4; ++mu) k[size_t(mu)] = (2 * std::numbers::pi + theta[size_t(mu)]) / GetParam()[mu];
  std::vector<Spinor<double>> w;
  for (int s = 0; s < p.Ls; ++s) w.push_back(test::random_spinor(random));
  const auto kernel = [&](const Spinor<double>& v) {
    using reference::operator*, reference::operator+;
    Spinor<double> r = Complex<double>{-p.M5, 0} * v;
    for (int mu = 0; mu < 4; ++mu)
      r = r + Complex<double>{a[size_t(mu)] * (1 - std::cos(k[size_t(mu)])), 0} * v +
          Complex<double>{0, a[size_t(mu)] * std::sin(k[size_t(mu)])} * (gamma_mu(mu) * v);
    return r;
  };
  FiveVector psi(size_t(p.Ls), reference::zero_spinors(U.volume())), expected = psi;
  for (int s = 0; s < p.Ls; ++s) {
    using reference::operator*, reference::operator+, reference::operator-;
    const auto& above = w[size_t((s + 1) % p.Ls)];
    const auto& below = w[size_t((s + p.Ls - 1) % p.Ls)];
    Spinor<double> shifted{};
    for (int spin = 0; spin < 4; ++spin) {
      const double wrap = (spin < 2 ? s == 0 : s == p.Ls - 1) ? -p.mass : 1.0;
      for (int c = 0; c < 3; ++c) {
        const Complex<double> z = spin < 2 ? below.s[spin].c[c] : above.s[spin].c[c];
        shifted.s[spin].c[c] = {wrap * z.re, wrap * z.im};
      }
    }
    const Spinor<double> Dw = Complex<double>{p.b(s).real(), 0} * kernel(w[size_t(s)]) + w[size_t(s)] -
                              shifted + Complex<double>{p.c(s).real(), 0} * kernel(shifted);
    for (size_t site = 0; site < psi[0].size(); ++site) {
      const Coord x = site_coord(int64_t(site), GetParam());
      double angle = 0;
      for (int mu = 0; mu < 4; ++mu) angle += k[size_t(mu)] * x[mu];
      psi[size_t(s)][site] = reference::to_complex(std::polar(1.0, angle)) * w[size_t(s)];
      expected[size_t(s)][site] = reference::to_complex(std::polar(1.0, angle)) * Dw;
    }
  }
  EXPECT_LT(reference::relative_error(test::to_five(apply(p, {}, psi, false)), expected),
            test::rounding(100));
}

TEST_P(DomainWallTest, plane_waves_on_unit_links) {
  U = reference::unit_gauge(GetParam());
  expect_plane_waves(all_physics()[2]);
  expect_plane_waves(all_physics().back());  // this one is anisotropic
}

TEST_P(DomainWallTest, schur_complements_reproduce_the_full_operator) {
  for (const DomainWallParams& p : all_physics())
    for (const SchurForm form : {SchurForm::asymmetric, SchurForm::symmetric})
      for (const int parity : {0, 1}) {
        const auto matrix = std::make_shared<DomainWallMatrix>(test::to_product(lattice, U), p);
        const DomainWallOperator D(matrix);
        const DomainWallSchur S(matrix, form, parity);
        SpinorField x = D.make_field(), b = D.make_field(), rebuilt = D.make_field();
        test::to_product(x, test::random_five(GetParam(), p.Ls, 18));
        D.apply(b, x);
        // The Schur unknown that belongs to x is x_e (asymmetric) or M x_e (symmetric).
        SpinorField y = S.make_field(), source = S.make_field(), Sy = S.make_field(), z = S.make_field();
        if (form == SchurForm::symmetric)
          matrix->apply_fifth(y, x, parity, FifthMatrix::M, false);
        else
          extract_parity(y, x);
        S.prepare_source(source, b);
        S.apply(Sy, y);
        combine(Sy, 1.0, Sy, -1.0, source);
        EXPECT_LT(std::sqrt(norm2(Sy) / norm2(source)), test::rounding(500)) << S.name();
        S.reconstruct(rebuilt, y, b);
        combine(rebuilt, 1.0, rebuilt, -1.0, x);
        EXPECT_LT(std::sqrt(norm2(rebuilt) / norm2(x)), test::rounding(500)) << S.name();
        // The dagger has <z, S y> = <S^dagger z, y>.
        SpinorField Sz = S.make_field();
        extract_parity(z, b);
        S.apply(Sy, y);
        S.apply_dagger(Sz, z);
        EXPECT_LT(std::abs(dot(z, Sy) - dot(Sz, y)), test::rounding(500) * std::sqrt(norm2(z) * norm2(Sy)))
            << S.name();
        // With the norm the bits are the same.
        SpinorField again = S.make_field();
        EXPECT_EQ(test::apply_with_norm2(S, again, y), norm2_each(Sy)) << S.name();
        EXPECT_EQ(test::canonical_five(again), test::canonical_five(Sy)) << S.name();
        EXPECT_EQ(test::apply_with_norm2(S, again, z, true), norm2_each(Sz)) << S.name();
        EXPECT_EQ(test::canonical_five(again), test::canonical_five(Sz)) << S.name();
      }
}

INSTANTIATE_TEST_SUITE_P(Lattices, DomainWallTest,
                         ::testing::Values(Coord{4, 4, 4, 4}, Coord{2, 4, 2, 6}, Coord{2, 2, 2, 2}),
                         [](const auto& info) { return to_string(info.param); });

TEST(DomainWall, refuses_what_it_cannot_do) {
  const GaugeField U = test::to_product(make_lattice({2, 2, 2, 2}), reference::unit_gauge({2, 2, 2, 2}));
  EXPECT_THROW(DomainWallMatrix(U, test::moebius(0.1, 1, 1, 0)), BadArgument);
  EXPECT_THROW(DomainWallMatrix(U, test::moebius(0.1, largest_Ls + 1, 1, 0)), BadArgument);
  DomainWallParams p = test::moebius(0.1, 4, 1, 0);
  p.M5 = 2.0;
  EXPECT_THROW(DomainWallMatrix(U, p), BadArgument);
  p.M5 = 1.8;
  p.xi0 = 0;
  EXPECT_THROW(DomainWallMatrix(U, p), BadArgument);
  p.xi0 = 1;
  p.nu = -1;
  EXPECT_THROW(DomainWallMatrix(U, p), BadArgument);
  p.nu = 1;
  p.b5 = {1.0, 2.0};
  EXPECT_THROW(DomainWallMatrix(U, p), BadArgument);
  const DomainWallOperator D(U, test::moebius(0.1, 4, 1, 0)), E(U, test::moebius(0.1, 6, 1, 0));
  SpinorField in = D.make_field(), out = E.make_field();
  EXPECT_THROW(D.apply(out, in), BadArgument);
}

TEST(DomainWall, counts_ten_to_twelve_thousand_flop_as_papers_do) {
  for (const auto& [Ls, expected] : {std::pair{12, 9816.0}, std::pair{20, 12110.4}}) {
    const auto matrix = std::make_shared<DomainWallMatrix>(GaugeField(make_lattice({4, 4, 4, 4})),
                                                           test::moebius(0.1, Ls, 1.5, 0.5), KernelChoice{});
    for (const SchurForm form : {SchurForm::symmetric, SchurForm::asymmetric})
      EXPECT_NEAR(2 * DomainWallSchur(matrix, form).cost(1).conventional_flops / (128 * Ls), expected, 1e-6);
  }
}

}  // namespace in_test_domain_wall
}  // namespace trellis
