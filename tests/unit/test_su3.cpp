/// Functions of SU(3) agree with the reference, obey identities, and have the same bits for every lane count.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "reference/gauge.hpp"
#include "reference/smearing.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/algebra/su3_random.hpp"

namespace trellis {
namespace in_test_su3 {

using Matrix = ColorMatrix<double>;
using test::largest_difference;
using test::rounding;

double unitarity(const Matrix& U) {
  Complex<double> det = determinant(U);
  det.re -= 1;
  return std::max(largest_difference(mul_dagger(U, U), identity_matrix<double>()), std::sqrt(norm2(det)));
}

Matrix random_algebra(test::Random& random, double size) {
  double p[8];
  for (double& x : p) x = size * random.symmetric();
  return algebra_element(p);
}

TEST(Su3, determinant_and_projection_equal_the_reference) {
  test::Random random(1);
  for (int n = 0; n < 100; ++n) {
    const Matrix A = test::random_matrix(random);
    const Complex<double> a = determinant(A), b = reference::determinant(A);
    EXPECT_LT(std::hypot(a.re - b.re, a.im - b.im), rounding(30));
    EXPECT_LT(largest_difference(traceless_antihermitian(A), reference::traceless_antihermitian(A)),
              rounding(4));
  }
}

TEST(Su3, components_belong_to_the_generators) {
  test::Random random(2);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      double pa[8] = {}, pb[8] = {};
      pa[a] = pb[b] = 1;
      EXPECT_NEAR(trace(algebra_element(pa) * algebra_element(pb)).re, a == b ? -0.5 : 0.0, rounding(4));
    }
  double p[8], q[8];
  for (double& x : p) x = random.symmetric();
  const Matrix X = algebra_element(p);
  algebra_components(X, q);
  for (int a = 0; a < 8; ++a) EXPECT_NEAR(q[a], p[a], rounding(4));
  EXPECT_LT(largest_difference(traceless_antihermitian(X), X), rounding(2));
}

TEST(Su3, products_of_antihermitian_matrices_by_nine_reals) {
  test::Random random(7);
  for (int n = 0; n < 20; ++n) {
    const Matrix X = random_algebra(random, 1.0), Y = random_algebra(random, 1.0),
                 M = test::random_matrix(random);
    const AntihermitianMatrix<double> A = antihermitian(X), B = antihermitian(Y);
    EXPECT_EQ(largest_difference(dense(A), X), 0.0);
    EXPECT_LT(largest_difference(M * A, M * X), rounding(20));
    EXPECT_LT(largest_difference(A * M, X * M), rounding(20));
    EXPECT_LT(largest_difference(dagger_mul(M, A), dagger_mul(M, X)), rounding(20));
    EXPECT_LT(largest_difference(mul_dagger(A, M), mul_dagger(X, M)), rounding(20));
    EXPECT_LT(largest_difference(dense(combination(0.3, A, -2.0, B)), 0.3 * X - 2.0 * Y), rounding(20));
  }
}

TEST(Su3, hermitian_matrices_by_nine_reals) {
  test::Random random(8);
  const auto full = [](const HermitianMatrix<double>& H) {  // this is i times antihermitian
    AntihermitianMatrix<double> A;
    for (int i = 0; i < 3; ++i) {
      A.diagonal[i] = -H.diagonal[i];
      A.below[i] = {H.below[i].im, -H.below[i].re};
    }
    return Complex<double>{0, 1} * dense(A);
  };
  for (int n = 0; n < 20; ++n) {
    const Matrix M = test::random_matrix(random), N = test::random_matrix(random);
    const HermitianMatrix<double> H = hermitian_part(M), G = hermitian_part(N);
    Matrix h = zero_matrix<double>(), g = h;
    for (int i = 0; i < 9; ++i) {
      const int row = i / 3, column = i % 3;
      h.e[row][column] = 0.5 * (M.e[row][column] + conj(M.e[column][row]));
      g.e[row][column] = 0.5 * (N.e[row][column] + conj(N.e[column][row]));
    }
    EXPECT_LT(largest_difference(full(H), h), rounding(2));
    EXPECT_LT(largest_difference(full(square(H)), h * h), rounding(30));
    EXPECT_LT(largest_difference(full(anticommutator(G, H)), g * h + h * g), rounding(60));
    EXPECT_NEAR(determinant(H), determinant(h).re, rounding(60));
    EXPECT_NEAR(half_trace(square(H)), 0.5 * trace(h * h).re, rounding(30));
    EXPECT_LT(std::sqrt(norm2(trace_of_product(H, N) - trace(h * N))), rounding(60));
    const Matrix X = random_algebra(random, 1.0);
    EXPECT_LT(largest_difference(Complex<double>{0, 1} * full(hermitian(antihermitian(X))), X), rounding(2));
    const Complex<double> f[3] = {{0.3, -0.2}, {1.5, 0.7}, {-0.4, 0.9}};
    const Matrix p = polynomial(f, H, square(H)), expected = f[1] * h + f[2] * (h * h);
    EXPECT_LT(largest_difference(p, expected + f[0] * identity_matrix<double>()), rounding(60));
  }
}

TEST(Su3, exponential_equals_the_series) {
  test::Random random(3);
  for (const double size : {10.0, 3.0, 1.0, 0.1, 1e-3, 1e-8, 1e-30, 0.0})
    for (int n = 0; n < 200; ++n) {
      const Matrix X = random_algebra(random, size);
      const Matrix U = exponential(X);
      // The phases of exp(X) have errors of rounding(|X|); the formula adds a few dozen roundings.
      EXPECT_LT(largest_difference(U, reference::exponential(X)), rounding(40 + 60 * size))
          << "size " << size;
      EXPECT_LT(unitarity(U), rounding(40 + 60 * size)) << "size " << size;
    }
}

/// The exponential exp(X) is known in closed form for diagonal X and its conjugates: eigenvalues coincide,
/// almost coincide, or vanish.
TEST(Su3, exponential_near_degenerate_eigenvalues) {
  test::Random random(4);
  for (const double size : {3.0, 1.0, 1e-2, 1e-5})
    for (const double gap : {0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3})
      for (const int sign : {1, -1}) {
        const double angle[3] = {sign * size * (1 + gap), sign * size, -sign * size * (2 + gap)};
        const double zero_middle[3] = {sign * size, sign * size * gap, -sign * size * (1 + gap)};
        for (const auto* phases : {angle, zero_middle}) {
          Matrix D = zero_matrix<double>(), E = D;
          for (int i = 0; i < 3; ++i) {
            D.e[i][i] = {0, phases[i]};
            E.e[i][i] = {std::cos(phases[i]), std::sin(phases[i])};
          }
          const Matrix V = test::random_su3(random);
          const Matrix X = traceless_antihermitian(mul_dagger(V * D, V));
          EXPECT_LT(largest_difference(exponential(X), mul_dagger(V * E, V)), rounding(60 + 100 * size))
              << "size " << size << " gap " << gap;
          EXPECT_LT(largest_difference(exponential(D), E), rounding(60 + 100 * size)) << size << " " << gap;
        }
      }
}

TEST(Su3, reunitarise_projects_and_keeps) {
  test::Random random(5);
  for (int n = 0; n < 100; ++n) {
    Matrix A = test::random_matrix(random);
    reunitarise(A);
    EXPECT_LT(unitarity(A), 1e-12);  // rows of a random matrix may be close to parallel
    Matrix B = A;
    reunitarise(B);
    reunitarise(B);
    EXPECT_LT(unitarity(B), rounding(20));
    EXPECT_LT(largest_difference(A, B), 1e-12);
  }
}

TEST(Su3, nearest_su3_equals_the_reference) {
  test::Random random(6);
  for (const double noise : {0.01, 0.3, 0.6})
    for (int n = 0; n < 50; ++n) {
      const Matrix W = test::random_su3(random), A = W + noise * test::random_matrix(random);
      const Matrix N = nearest_su3(A);
      EXPECT_LT(unitarity(N), rounding(20));
      EXPECT_LT(largest_difference(N, reference::nearest_su3(A)), 1e-12);
      EXPECT_LT(largest_difference(nearest_su3(1.7 * W), W), 1e-13);
    }
}

TEST(Su3, su2_parts_and_products) {
  test::Random random(7);
  const Matrix A = test::random_matrix(random);
  for (int k = 0; k < 3; ++k) {
    const int p = su2_first_row(k), q = su2_second_row(k);
    const Quaternion<double> raw = {
        {random.symmetric(), random.symmetric(), random.symmetric(), random.symmetric()}};
    const Quaternion<double> g = normalised(raw, length_of(raw));
    Matrix G = identity_matrix<double>();
    multiply_su2(g, p, q, G);
    EXPECT_LT(unitarity(G), rounding(10));
    const Quaternion<double> back = su2_part(G, p, q);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(back.a[i], g.a[i], rounding(4));
    Matrix B = A;
    multiply_su2(g, p, q, B);
    EXPECT_LT(largest_difference(B, G * A), rounding(20));
    // The trace is Re tr(g A) = 2 (g0 a0 - g.a) + what g does not touch.
    const Quaternion<double> a = su2_part(A, p, q);
    const double change = trace(B).re - trace(A).re;
    EXPECT_NEAR(change,
                2 * (g.a[0] * a.a[0] - g.a[1] * a.a[1] - g.a[2] * a.a[2] - g.a[3] * a.a[3]) - 2 * a.a[0],
                rounding(30));
  }
}

TEST(Su3, random_matrices_have_the_moments_of_haar) {
  const int n = 100000;
  double t = 0, t2 = 0, t3 = 0, entry4 = 0;
  for (int i = 0; i < n; ++i) {
    const SiteRandom<double> random(random_key(5, 0), RandomPurpose::test, 0, uint64_t(i));
    const Matrix U = random_su3(random, 0);
    if (i < 100) {
      EXPECT_LT(unitarity(U), 1e-12);
    }
    const Complex<double> tr = trace(U), cube = tr * tr * tr;
    t += tr.re;
    t2 += norm2(tr);
    t3 += cube.re;
    entry4 += norm2(U.e[1][2]) * norm2(U.e[1][2]);
  }
  // The moments are <tr U> = 0, <|tr U|^2> = 1, <(tr U)^3> = 1, <|U_ij|^4> = 1/6, to five standard
  // deviations.
  EXPECT_NEAR(t / n, 0.0, 5 * std::sqrt(0.5 / n));
  EXPECT_NEAR(t2 / n, 1.0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(t3 / n, 1.0, 5 * std::sqrt(3.0 / n));
  EXPECT_NEAR(entry4 / n, 1.0 / 6, 5 * std::sqrt(0.05 / n));
}

template <int W>
void check_lane_count() {
  using R = LaneReal<double, W>;
  test::Random random(8);
  for (int n = 0; n < 50; ++n) {
    Matrix X[W], A[W];
    ColorMatrix<R> lanes_X, lanes_A;
    for (int k = 0; k < W; ++k) {
      X[k] = random_algebra(random, k % 3 == 0 ? 1e-3 : 2.0);
      A[k] = test::random_su3(random) + (k % 4 == 0 ? 0.001 : 0.3) * test::random_matrix(random);
      for (int i = 0; i < 9; ++i) {
        set_lane(lanes_X.e[i / 3][i % 3].re, k, X[k].e[i / 3][i % 3].re);
        set_lane(lanes_X.e[i / 3][i % 3].im, k, X[k].e[i / 3][i % 3].im);
        set_lane(lanes_A.e[i / 3][i % 3].re, k, A[k].e[i / 3][i % 3].re);
        set_lane(lanes_A.e[i / 3][i % 3].im, k, A[k].e[i / 3][i % 3].im);
      }
    }
    const ColorMatrix<R> E = exponential(lanes_X), N = nearest_su3(lanes_A);
    for (int k = 0; k < W; ++k) {
      const Matrix e = exponential(X[k]), m = nearest_su3(A[k]);
      for (int i = 0; i < 9; ++i) {
        ASSERT_EQ(lane(E.e[i / 3][i % 3].re, k), e.e[i / 3][i % 3].re);
        ASSERT_EQ(lane(E.e[i / 3][i % 3].im, k), e.e[i / 3][i % 3].im);
        ASSERT_EQ(lane(N.e[i / 3][i % 3].re, k), m.e[i / 3][i % 3].re);
        ASSERT_EQ(lane(N.e[i / 3][i % 3].im, k), m.e[i / 3][i % 3].im);
      }
    }
  }
}

TEST(Su3, has_the_same_bits_for_every_lane_count) {
  check_lane_count<4>();
  check_lane_count<8>();
  check_lane_count<16>();
}

}  // namespace in_test_su3
}  // namespace trellis
