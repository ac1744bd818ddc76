#include "bench/quark_mass.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/fields.hpp"
#include "trellis/algebra/gamma.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/solver/eigen/hermitian_matrix.hpp"

namespace trellis::bench {

namespace {

/// Multiplies by gamma5 = diag(1, 1, -1, -1).
void multiply_by_gamma5(SpinorField& field) {
  std::vector<double> canonical(size_t(field.geometry().local_volume()) * 24);
  for (int slot = 0; slot < field.slots(); ++slot) {
    field.to_canonical(canonical.data(), slot);
    for (size_t i = 0; i < canonical.size(); ++i)
      if (i % 24 >= 12) canonical[i] = -canonical[i];
    field.from_canonical(canonical.data(), slot);
  }
}

/// Computes w -= sum_i v_i <v_i, w>, twice.
void orthogonalise(SpinorField& w, const std::vector<SpinorField>& basis) {
  for (int pass = 0; pass < 2; ++pass)
    for (const SpinorField& v : basis) {
      const std::complex<double> overlap = dot_each(v, w)[0];
      combine(w, ComplexCoefficients{1.0}, w, ComplexCoefficients{-overlap}, v);
    }
}

void scale(SpinorField& v, double factor) { combine(v, Coefficients{factor}, v, Coefficients{0.0}, v); }

/// Returns the mean over the times at which a pion alone is left, more or less.
template <class F>
double plateau(int extent, F&& f) {
  double sum = 0;
  int count = 0;
  for (int t = extent / 4; t < extent / 2; ++t, ++count) sum += f(t);
  return sum / count;
}

}  // namespace

LowestEigenvalue lowest_eigenvalue(const LinearOperator& M, const Inverse& inverse, int steps) {
  std::vector<SpinorField> basis{M.make_field()};
  fill(basis[0]);
  scale(basis[0], 1 / std::sqrt(norm2_each(basis[0])[0]));
  std::vector<double> diagonal, beside;
  while (int(diagonal.size()) < steps) {
    SpinorField source = basis.back(), next = SpinorField::like(source);
    multiply_by_gamma5(source);
    inverse(next, source);
    diagonal.push_back(dot_each(basis.back(), next)[0].real());
    orthogonalise(next, basis);
    beside.push_back(std::sqrt(norm2_each(next)[0]));
    if (!(beside.back() > 0)) break;
    scale(next, 1 / beside.back());
    basis.push_back(std::move(next));
  }
  const int n = int(diagonal.size());
  DenseMatrix T(n);
  for (int i = 0; i < n; ++i) {
    T.at(i, i) = diagonal[size_t(i)];
    if (i + 1 < n) T.at(i, i + 1) = T.at(i + 1, i) = beside[size_t(i)];
  }
  const HermitianEigensystem found = diagonalise(T);
  const bool is_last = std::abs(found.values.back()) > std::abs(found.values.front());
  const double largest = std::abs(is_last ? found.values.back() : found.values.front());
  const double residual = beside.back() * std::abs(found.vectors.at(n - 1, is_last ? n - 1 : 0));
  return {1 / largest, residual / largest};
}

PionCorrelators pion_correlators(const LinearOperator& M, const Inverse& inverse) {
  const Geometry& g = M.domain_lattice()->geometry();
  const int extent = g.lattice()[3];
  TRELLIS_REQUIRE(extent >= 8, "masses need 8 or more sites in time, not ", extent);
  SpinorField b = M.make_field(12), x = SpinorField::like(b);
  set_point_sources(b);
  inverse(x, b);
  const GammaMatrix gamma_t = gamma_mu(3);
  PionCorrelators c{std::vector<double>(size_t(extent)), std::vector<double>(size_t(extent))};
  std::vector<double> canonical(size_t(g.local_volume()) * 24);
  for (int slot = 0; slot < x.slots(); ++slot) {
    x.to_canonical(canonical.data(), slot);
    for (int64_t site = 0; site < g.local_volume(); ++site) {
      const auto* psi = reinterpret_cast<const std::complex<double>*>(&canonical[size_t(site) * 24]);
      const size_t t = size_t(g.to_global(site_coord(site, g.local()))[3]);
      for (int spin = 0; spin < 4; ++spin)
        for (int colour = 0; colour < 3; ++colour) {
          const std::complex<double> own = psi[3 * spin + colour];
          const std::complex<double> other = psi[3 * gamma_t.column[size_t(spin)] + colour];
          c.pseudoscalar[t] += std::norm(own);
          c.axial[t] -= (std::conj(own) * gamma_t.phase[size_t(spin)] * other).real();
        }
    }
  }
  for (std::vector<double>* values : {&c.pseudoscalar, &c.axial})
    for (double& value : *values) value = sum_over_ranks(value);
  return c;
}

double PionCorrelators::pcac_mass() const {
  return plateau(int(axial.size()), [this](int at) {
    const size_t t = size_t(at);
    return (axial[t + 1] - axial[t - 1]) / (4 * pseudoscalar[t]);
  });
}

double PionCorrelators::pion_mass() const {
  return plateau(int(axial.size()), [this](int at) {
    const size_t t = size_t(at);
    return std::acosh(std::max(1.0, (pseudoscalar[t + 1] + pseudoscalar[t - 1]) / (2 * pseudoscalar[t])));
  });
}

}  // namespace trellis::bench
