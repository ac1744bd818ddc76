#pragma once
/// Tests of solvers take operators with a known inverse: A = Q1 D Q2, where D is diagonal and Q = 1 - 2 v
/// v^dagger / |v|^2 with a random v (Q is hermitian and unitary, and couples all sites). A^-1 = Q2 D^-1 Q1,
/// and the condition number is that of D. They compute in double on canonical arrays and round only when they
/// store. There is one rank.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/random_fields.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/linear_operator.hpp"

namespace trellis::test {

using Vector = std::vector<std::complex<double>>;

inline Vector canonical_vector(const SpinorField& f, int rhs) {
  Vector v(size_t(f.geometry().local_volume()) * 12);
  f.to_canonical(reinterpret_cast<double*>(v.data()), rhs);
  return v;
}
inline void set_canonical(SpinorField& f, const Vector& v, int rhs) {
  f.from_canonical(reinterpret_cast<const double*>(v.data()), rhs);
}
inline Vector random_vector(size_t size, uint64_t seed) {
  Random random(seed);
  Vector v(size);
  for (auto& z : v) {
    const Complex<double> c = random.complex();
    z = {c.re, c.im};
  }
  return v;
}

/// Turns v into v - 2 w (w . v) / |w|^2.
inline void reflect(Vector& v, const Vector& w) {
  std::complex<double> overlap = 0;
  double norm = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    overlap += std::conj(w[i]) * v[i];
    norm += std::norm(w[i]);
  }
  for (size_t i = 0; i < v.size(); ++i) v[i] -= 2.0 * overlap / norm * w[i];
}

struct ReflectedDiagonal {
  Vector diagonal, left, right;
  bool is_hermitian = false;

  enum class Power { direct, dagger, inverse };
  void apply(Vector& v, Power power) const {
    reflect(v, power == Power::direct ? right : left);
    for (size_t i = 0; i < v.size(); ++i) {
      if (power == Power::direct) v[i] *= diagonal[i];
      if (power == Power::dagger) v[i] *= std::conj(diagonal[i]);
      if (power == Power::inverse) v[i] /= diagonal[i];
    }
    reflect(v, power == Power::direct ? left : right);
  }
};

class KnownOperator final : public LinearOperator {
 public:
  KnownOperator(LatticePtr lattice, std::shared_ptr<const ReflectedDiagonal> matrix, FieldSpec spec = {})
      : lattice_{std::move(lattice)}, matrix_{std::move(matrix)}, spec_{spec} {}

  bool is_hermitian() const override { return matrix_->is_hermitian; }
  FieldSpec domain(int columns = 1) const override {
    FieldSpec spec = spec_;
    spec.rhs = columns;
    return spec;
  }
  const LatticePtr& domain_lattice() const override { return lattice_; }
  Cost cost(int columns) const override {
    return cost_of(100.0 * columns * double(lattice_->volume()),
                   192.0 * columns * double(lattice_->volume()));
  }
  LinearOperatorPtr converted(Precision precision) const override {
    FieldSpec spec = spec_;
    spec.precision = precision;
    return std::make_shared<KnownOperator>(lattice_, matrix_, spec);
  }
  std::string name() const override { return "known operator"; }
  const ReflectedDiagonal& matrix() const { return *matrix_; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const override {
    const auto power = is_dagger ? ReflectedDiagonal::Power::dagger : ReflectedDiagonal::Power::direct;
    for (int rhs = 0; rhs < in.rhs(); ++rhs) {
      Vector v = canonical_vector(in, rhs);
      matrix_->apply(v, power);
      set_canonical(out, v, rhs);
    }
  }
  LatticePtr lattice_;
  std::shared_ptr<const ReflectedDiagonal> matrix_;
  FieldSpec spec_;
};

/// Returns an operator with D_i = eigenvalue(i / (n - 1)) and one reflection (A is then normal) or two.
inline std::shared_ptr<const KnownOperator> make_known(
    const LatticePtr& lattice, const std::function<std::complex<double>(double)>& eigenvalue,
    bool is_normal = true, FieldSpec spec = {}) {
  auto matrix = std::make_shared<ReflectedDiagonal>();
  const size_t n = size_t(lattice->volume()) * 12;
  matrix->left = random_vector(n, 1);
  matrix->right = is_normal ? matrix->left : random_vector(n, 2);
  matrix->is_hermitian = is_normal;
  for (size_t i = 0; i < n; ++i) {
    matrix->diagonal.push_back(eigenvalue(double(i * 7919 % n) / double(n - 1)));
    matrix->is_hermitian = matrix->is_hermitian && matrix->diagonal.back().imag() == 0;
  }
  return std::make_shared<KnownOperator>(lattice, matrix, spec);
}

/// Returns a hermitian operator, with eigenvalues from 1 / condition to 1 in geometric progression.
inline std::shared_ptr<const KnownOperator> make_positive(const LatticePtr& lattice, double condition,
                                                          FieldSpec spec = {}) {
  return make_known(
      lattice, [=](double t) { return std::pow(condition, -t); }, true, spec);
}
/// Returns a normal operator, with complex eigenvalues in the disc of this radius around 1.
inline std::shared_ptr<const KnownOperator> make_disc(const LatticePtr& lattice, double radius,
                                                      FieldSpec spec = {}) {
  const auto eigenvalue = [=](double t) { return 1.0 + std::polar(radius * std::sqrt(t), 200.0 * t); };
  return make_known(lattice, eigenvalue, true, spec);
}
/// Returns a normal operator, with eigenvalues all around zero and moduli from 1 / condition to 1.
inline std::shared_ptr<const KnownOperator> make_around_zero(const LatticePtr& lattice, double condition) {
  return make_known(lattice, [=](double t) { return std::polar(std::pow(condition, -t), 200.0 * t); });
}
/// Returns an operator far from normal, with singular values from 1 / condition to 1 and eigenvalues
/// anywhere.
inline std::shared_ptr<const KnownOperator> make_general(const LatticePtr& lattice, double condition,
                                                         FieldSpec spec = {}) {
  const auto value = [=](double t) { return std::polar(std::pow(condition, -t), 100.0 * t); };
  return make_known(lattice, value, false, spec);
}

inline SpinorField random_source(const LinearOperator& A, int rhs, uint64_t seed = 5) {
  SpinorField b = A.make_field(rhs);
  for (int r = 0; r < rhs; ++r)
    set_canonical(b, random_vector(size_t(b.geometry().local_volume()) * 12, seed + uint64_t(r)), r);
  return b;
}

/// Returns |x - A^-1 b| / |A^-1 b| of one right-hand side.
inline double relative_error_of(const KnownOperator& A, const SpinorField& x, const SpinorField& b, int rhs) {
  Vector known = canonical_vector(b, rhs);
  A.matrix().apply(known, ReflectedDiagonal::Power::inverse);
  const Vector found = canonical_vector(x, rhs);
  double difference = 0, norm = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    difference += std::norm(found[i] - known[i]);
    norm += std::norm(known[i]);
  }
  return std::sqrt(difference / norm);
}

/// Returns |b - A x| / |b| of one right-hand side, computed without Trellis' linear algebra.
inline double residual_of(const KnownOperator& A, const SpinorField& x, const SpinorField& b, int rhs) {
  Vector image = canonical_vector(x, rhs);
  A.matrix().apply(image, ReflectedDiagonal::Power::direct);
  const Vector source = canonical_vector(b, rhs);
  double difference = 0, norm = 0;
  for (size_t i = 0; i < image.size(); ++i) {
    difference += std::norm(image[i] - source[i]);
    norm += std::norm(source[i]);
  }
  return std::sqrt(difference / norm);
}

}  // namespace trellis::test
