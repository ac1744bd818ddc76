#include "reference/spinor_vector.hpp"

namespace trellis::reference {

SpinorVector zero_spinors(int64_t volume) { return SpinorVector(size_t(volume), Spinor<double>{}); }

Spinor<double> operator+(const Spinor<double>& a, const Spinor<double>& b) {
  Spinor<double> r;
  for (int s = 0; s < Ns; ++s) r.s[s] = a.s[s] + b.s[s];
  return r;
}

Spinor<double> operator-(const Spinor<double>& a, const Spinor<double>& b) {
  Spinor<double> r;
  for (int s = 0; s < Ns; ++s) r.s[s] = a.s[s] - b.s[s];
  return r;
}

Spinor<double> operator*(Complex<double> z, const Spinor<double>& a) {
  Spinor<double> r;
  for (int s = 0; s < Ns; ++s) r.s[s] = z * a.s[s];
  return r;
}

Spinor<double> operator*(const ColorMatrix<double>& U, const Spinor<double>& a) {
  Spinor<double> r;
  for (int s = 0; s < Ns; ++s) r.s[s] = U * a.s[s];
  return r;
}

Spinor<double> operator*(const GammaMatrix& gamma, const Spinor<double>& a) {
  Spinor<double> r;
  for (int row = 0; row < Ns; ++row) r.s[row] = to_complex(gamma.phase[row]) * a.s[gamma.column[row]];
  return r;
}

void add_scaled(SpinorVector& y, std::complex<double> a, const SpinorVector& x) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] + to_complex(a) * x[i];
}

SpinorVector difference(const SpinorVector& a, const SpinorVector& b) {
  SpinorVector r = a;
  for (size_t i = 0; i < r.size(); ++i) r[i] = r[i] - b[i];
  return r;
}

SpinorVector multiply(const GammaMatrix& gamma, const SpinorVector& a) {
  SpinorVector r = a;
  for (auto& psi : r) psi = gamma * psi;
  return r;
}

std::complex<double> dot(const SpinorVector& a, const SpinorVector& b) {
  Complex<double> sum{0, 0};
  for (size_t i = 0; i < a.size(); ++i)
    for (int s = 0; s < Ns; ++s)
      for (int c = 0; c < Nc; ++c) conj_mul_add(sum, a[i].s[s].c[c], b[i].s[s].c[c]);
  return to_std(sum);
}

double norm2(const SpinorVector& a) { return dot(a, a).real(); }

SpinorVector restricted_to(const SpinorVector& a, int parity, const Coord& extents) {
  SpinorVector r = a;
  for (size_t i = 0; i < r.size(); ++i)
    if (site_parity(site_coord(int64_t(i), extents)) != parity) r[i] = Spinor<double>{};
  return r;
}

}  // namespace trellis::reference
