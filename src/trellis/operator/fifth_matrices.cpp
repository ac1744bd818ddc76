#include "trellis/operator/fifth_matrices.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
using Number = std::complex<double>;

/// Returns a / b; real numbers are divided as real numbers, whose rounding is not that of the complex
/// quotient.
Number quotient(const Number& a, const Number& b) {
  if (a.imag() == 0 && b.imag() == 0) return a.real() / b.real();
  return a / b;
}

/// Returns diagonal(s) + off(s) L.
template <class Diagonal, class Off>
CyclicBidiagonal shift_matrix(const DomainWallParams& p, const Diagonal& diagonal, const Off& off) {
  CyclicBidiagonal T;
  T.slices = p.Ls;
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int i = 0; i < p.Ls; ++i) {
      const int s = chirality == 0 ? i : p.Ls - 1 - i;
      T.u[chirality][i] = diagonal(s);
      T.v[chirality][i] = i == 0 ? -p.mass * off(s) : off(s);
    }
  return T;
}

/// It has p = 1/u, q = -v/u and w of the inverse (kernels/dirac/fifth_dimension.hpp).
struct CyclicInverse {
  Number p[2][largest_Ls], q[2][largest_Ls], w[2][largest_Ls];
};

CyclicInverse recursion(const CyclicBidiagonal& T) {
  CyclicInverse inverse{};
  for (int chirality = 0; chirality < 2; ++chirality) {
    Number all = 1;
    for (int i = 0; i < T.slices; ++i) {
      const Number u = T.u[chirality][i], v = T.v[chirality][i];
      if (u == 0.0)
        throw NumericError(
            message("1 + b5 (1 + 3 nu/xi0 - M5) vanishes on slice ", i, ": choose another M5"));
      inverse.p[chirality][i] = quotient(1, u);
      inverse.q[chirality][i] = quotient(-v, u);
      all *= inverse.q[chirality][i];
      inverse.w[chirality][i] = all;
    }
    if (std::abs(1.0 - all) < 1e-12)
      throw NumericError("the diagonal part of the domain-wall operator is singular: choose another M5");
    for (int i = 0; i < T.slices; ++i) {
      Number& w = inverse.w[chirality][i];
      w = quotient(w, 1.0 - all);
    }
    inverse.q[chirality][0] = 0;  // what comes from the last slice is the correction's
  }
  return inverse;
}

/// Marks complex coefficients, which need another kernel.
FifthCoefficients classified(FifthCoefficients m) {
  m.is_complex = false;
  for (const auto* list : {&m.p, &m.r, &m.q, &m.a, &m.b, &m.c})
    for (const auto& chirality : *list)
      for (const Number& value : chirality) m.is_complex = m.is_complex || value.imag() != 0;
  return m;
}

void set_recursion(FifthCoefficients& m, const CyclicInverse& inverse) {
  m.has_recursion = true;
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int i = 0; i < largest_Ls; ++i) {
      m.p[chirality][i] = inverse.p[chirality][i];
      m.q[chirality][i] = inverse.q[chirality][i];
    }
}
}  // namespace

CyclicBidiagonal fifth_matrix_M(const DomainWallParams& params) {
  const double A = params.wilson_diagonal();
  return shift_matrix(
      params, [&](int s) { return 1.0 + A * params.b(s); }, [&](int s) { return A * params.c(s) - 1.0; });
}

CyclicBidiagonal fifth_matrix_B(const DomainWallParams& params) {
  return shift_matrix(
      params, [&](int s) { return params.b(s); }, [&](int s) { return params.c(s); });
}

CyclicBidiagonal fifth_diagonal(int Ls, const std::vector<Number>& diagonal) {
  CyclicBidiagonal T;
  T.slices = Ls;
  for (int i = 0; i < Ls; ++i) {
    T.u[0][i] = diagonal[size_t(i)];
    T.u[1][Ls - 1 - i] = diagonal[size_t(i)];
  }
  return T;
}

/// Row j of the adjoint is column Ls - 1 - j, conjugated.
CyclicBidiagonal adjoint(const CyclicBidiagonal& T) {
  const int N = T.slices;
  CyclicBidiagonal A;
  A.slices = N;
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int j = 0; j < N; ++j) {
      A.u[chirality][j] = std::conj(T.u[chirality][N - 1 - j]);
      A.v[chirality][j] = std::conj(T.v[chirality][(N - j) % N]);
    }
  return A;
}

FifthCoefficients product(const CyclicBidiagonal& T) {
  FifthCoefficients m{};
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int i = 0; i < T.slices; ++i) {
      m.a[chirality][i] = T.u[chirality][i];
      m.b[chirality][i] = T.v[chirality][i];
    }
  return classified(m);
}

FifthCoefficients inverse(const CyclicBidiagonal& T) {
  CyclicBidiagonal one;
  one.slices = T.slices;
  for (int i = 0; i < T.slices; ++i) one.u[0][i] = one.u[1][i] = 1;
  return inverse_then(T, one);
}

/// Returns the coefficients of (S x)_i with x_i = z_i + w_i z_{N-1}, x_{-1} = (1 + w_{N-1}) z_{N-1}.
FifthCoefficients inverse_then(const CyclicBidiagonal& T, const CyclicBidiagonal& S) {
  const CyclicInverse inverse = recursion(T);
  FifthCoefficients m{};
  set_recursion(m, inverse);
  for (int chirality = 0; chirality < 2; ++chirality) {
    const Number *u = S.u[chirality], *v = S.v[chirality], *w = inverse.w[chirality];
    for (int i = 0; i < T.slices; ++i) {
      m.a[chirality][i] = u[i];
      m.b[chirality][i] = i == 0 ? v[0] * (1.0 + w[T.slices - 1]) : v[i];
      m.c[chirality][i] = i == 0 ? u[0] * w[0] : u[i] * w[i] + v[i] * w[i - 1];
    }
  }
  return classified(m);
}

FifthCoefficients product_then_inverse(const CyclicBidiagonal& S, const CyclicBidiagonal& T) {
  FifthCoefficients m = inverse(T);
  m.has_product = true;
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int i = 0; i < T.slices; ++i) {
      const Number p = m.p[chirality][i];
      m.p[chirality][i] = p * S.u[chirality][i];
      m.r[chirality][i] = p * S.v[chirality][i];
    }
  return classified(m);
}

FifthCoefficients scaled(FifthCoefficients m, double factor) {
  for (auto* list : {&m.a, &m.b, &m.c})
    for (auto& chirality : *list)
      for (Number& value : chirality) value *= factor;
  return m;
}

}  // namespace trellis
