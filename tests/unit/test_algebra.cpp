/// Complex numbers, colour matrices and spinors agree with std::complex and explicit gamma matrices.
#include <gtest/gtest.h>

#include "reference/spinor_vector.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"

namespace trellis {
namespace in_test_algebra {

using reference::to_std;
using test::rounding;

void expect_near(Complex<double> a, std::complex<double> b, double tolerance) {
  EXPECT_LT(std::abs(to_std(a) - b), tolerance) << to_std(a) << " for " << b;
}

TEST(Complex, products) {
  test::Random random(1);
  for (int n = 0; n < 200; ++n) {
    const Complex<double> a = random.complex(), b = random.complex(), c = random.complex();
    expect_near(a * b, to_std(a) * to_std(b), rounding(4));
    expect_near(conj_mul(a, b), std::conj(to_std(a)) * to_std(b), rounding(4));
    Complex<double> sum = c, conj_sum = c;
    mul_add(sum, a, b);
    conj_mul_add(conj_sum, a, b);
    expect_near(sum, to_std(c) + to_std(a) * to_std(b), rounding(6));
    expect_near(conj_sum, to_std(c) + std::conj(to_std(a)) * to_std(b), rounding(6));
    EXPECT_NEAR(norm2(a), std::norm(to_std(a)), rounding(4));
    EXPECT_EQ(conj_mul(a, a).re, norm2(a));
  }
}

/// Returns sum_k a_ik b_kj with std::complex; the flags say which factor is daggered.
ColorMatrix<double> plain_product(const ColorMatrix<double>& a, bool dagger_a, const ColorMatrix<double>& b,
                                  bool dagger_b) {
  auto entry = [](const ColorMatrix<double>& m, bool is_dagger, int i, int j) {
    return is_dagger ? std::conj(to_std(m.e[j][i])) : to_std(m.e[i][j]);
  };
  ColorMatrix<double> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) {
      std::complex<double> sum = 0;
      for (int k = 0; k < Nc; ++k) sum += entry(a, dagger_a, i, k) * entry(b, dagger_b, k, j);
      r.e[i][j] = {sum.real(), sum.imag()};
    }
  return r;
}

TEST(ColorMatrix, products_and_daggers) {
  test::Random random(2);
  for (int n = 0; n < 100; ++n) {
    const ColorMatrix<double> a = test::random_matrix(random), b = test::random_matrix(random);
    EXPECT_LT(test::largest_difference(a * b, plain_product(a, false, b, false)), rounding(20));
    EXPECT_LT(test::largest_difference(mul_dagger(a, b), plain_product(a, false, b, true)), rounding(20));
    EXPECT_LT(test::largest_difference(dagger_mul(a, b), plain_product(a, true, b, false)), rounding(20));
    EXPECT_EQ(test::largest_difference(dagger(dagger(a)), a), 0.0);
    EXPECT_EQ(test::largest_difference(a * identity_matrix<double>(), a), 0.0);
    EXPECT_EQ(test::largest_difference(a + zero_matrix<double>(), a), 0.0);
    EXPECT_LT(test::largest_difference(a - b, -1.0 * (b - a)), rounding(1));
    EXPECT_NEAR(real_trace_mul_dagger(a, b), trace(mul_dagger(a, b)).re, rounding(40));
    const Complex<double> z = random.complex();
    expect_near(trace(z * a), to_std(z) * to_std(trace(a)), rounding(20));
  }
}

TEST(ColorMatrix, matrix_times_vector) {
  test::Random random(3);
  const ColorMatrix<double> U = test::random_matrix(random);
  ColorVector<double> v;
  for (auto& c : v.c) c = random.complex();
  const ColorVector<double> Uv = U * v, Udv = dagger_mul(U, v);
  for (int i = 0; i < Nc; ++i) {
    std::complex<double> sum = 0, dagger_sum = 0;
    for (int j = 0; j < Nc; ++j) {
      sum += to_std(U.e[i][j]) * to_std(v.c[j]);
      dagger_sum += std::conj(to_std(U.e[j][i])) * to_std(v.c[j]);
    }
    expect_near(Uv.c[i], sum, rounding(20));
    expect_near(Udv.c[i], dagger_sum, rounding(20));
  }
}

TEST(ColorMatrix, third_row_of_a_special_unitary_matrix) {
  test::Random random(4);
  for (int n = 0; n < 100; ++n) {
    const ColorMatrix<double> U = test::random_su3(random);
    ColorMatrix<double> V = U;
    for (auto& entry : V.e[2]) entry = {7.0, -3.0};
    rebuild_third_row(V);
    EXPECT_LT(test::largest_difference(U, V), rounding(40));
  }
}

/// Checks (1 + sign gamma_mu) psi from its upper half: it is projected, then add_reconstructed, for every
/// direction and sign.
template <int mu>
void expect_projection(const Spinor<double>& psi, double sign) {
  using reference::operator+;
  using reference::operator*;
  const Spinor<double> expected = psi + Complex<double>{sign, 0} * (gamma_mu(mu) * psi);
  const HalfSpinor<double> h = project<mu>(psi, sign);
  Spinor<double> seen{};
  add_reconstructed<mu>(seen, h, sign);
  for (int s = 0; s < Ns; ++s)
    for (int c = 0; c < Nc; ++c) {
      EXPECT_EQ(seen.s[s].c[c].re, expected.s[s].c[c].re) << "mu " << mu << " sign " << sign << " spin " << s;
      EXPECT_EQ(seen.s[s].c[c].im, expected.s[s].c[c].im) << "mu " << mu << " sign " << sign << " spin " << s;
    }
}

TEST(Spinor, projections_are_the_gamma_matrices) {
  test::Random random(5);
  for (int n = 0; n < 20; ++n) {
    const Spinor<double> psi = test::random_spinor(random);
    for (const double sign : {1.0, -1.0}) {
      expect_projection<0>(psi, sign);
      expect_projection<1>(psi, sign);
      expect_projection<2>(psi, sign);
      expect_projection<3>(psi, sign);
    }
  }
}

/// The same products, lane by lane, give the same bits as scalars.
template <class T, int W>
void expect_lanes_like_scalars() {
  using R = LaneReal<T, W>;
  test::Random random(6);
  ColorMatrix<T> a[W], b[W];
  ColorMatrix<R> la, lb;
  for (int w = 0; w < W; ++w)
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j) {
        a[w].e[i][j] = {T(random.symmetric()), T(random.symmetric())};
        b[w].e[i][j] = {T(random.symmetric()), T(random.symmetric())};
        set_lane(la.e[i][j].re, w, a[w].e[i][j].re);
        set_lane(la.e[i][j].im, w, a[w].e[i][j].im);
        set_lane(lb.e[i][j].re, w, b[w].e[i][j].re);
        set_lane(lb.e[i][j].im, w, b[w].e[i][j].im);
      }
  const ColorMatrix<R> lanes[3] = {la * lb, mul_dagger(la, lb), dagger_mul(la, lb)};
  for (int w = 0; w < W; ++w) {
    const ColorMatrix<T> scalars[3] = {a[w] * b[w], mul_dagger(a[w], b[w]), dagger_mul(a[w], b[w])};
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < Nc; ++i)
        for (int j = 0; j < Nc; ++j) {
          EXPECT_EQ(lane(lanes[k].e[i][j].re, w), scalars[k].e[i][j].re);
          EXPECT_EQ(lane(lanes[k].e[i][j].im, w), scalars[k].e[i][j].im);
        }
    EXPECT_EQ(lane(real_trace_mul_dagger(la, lb), w), real_trace_mul_dagger(a[w], b[w]));
  }
}

TEST(ColorMatrix, lanes_have_the_bits_of_scalars) {
  expect_lanes_like_scalars<float, 4>();
  expect_lanes_like_scalars<float, 8>();
  expect_lanes_like_scalars<float, 16>();
  expect_lanes_like_scalars<double, 4>();
  expect_lanes_like_scalars<double, 8>();
  expect_lanes_like_scalars<double, 16>();
}

}  // namespace in_test_algebra
}  // namespace trellis
