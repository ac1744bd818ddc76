#include "reference/multigrid/level_operator.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

LevelVector to_level(const SpinorVector& v) {
  LevelVector out;
  out.reserve(12 * v.size());
  for (const auto& psi : v)
    for (int i = 0; i < 12; ++i) out.push_back(psi.s[i / 3].c[i % 3]);
  return out;
}

SpinorVector to_spinors(const LevelVector& v) {
  TRELLIS_REQUIRE(v.size() % 12 == 0, "a vector of ", v.size(), " components is no vector of spinors");
  SpinorVector out = zero_spinors(int64_t(v.size()) / 12);
  for (size_t i = 0; i < v.size(); ++i) out[i / 12].s[i % 12 / 3].c[i % 3] = v[i];
  return out;
}

void add_scaled(LevelVector& y, std::complex<double> a, const LevelVector& x) {
  for (size_t i = 0; i < y.size(); ++i) mul_add(y[i], to_complex(a), x[i]);
}

LevelVector scaled(std::complex<double> a, const LevelVector& x) {
  LevelVector r = x;
  for (auto& component : r) component = to_complex(a) * component;
  return r;
}

LevelVector difference(const LevelVector& a, const LevelVector& b) {
  LevelVector r = a;
  for (size_t i = 0; i < r.size(); ++i) r[i] = r[i] - b[i];
  return r;
}

std::complex<double> dot(const LevelVector& a, const LevelVector& b) {
  Complex<double> sum{0, 0};
  for (size_t i = 0; i < a.size(); ++i) conj_mul_add(sum, a[i], b[i]);
  return to_std(sum);
}

double norm2(const LevelVector& a) { return dot(a, a).real(); }

LevelVector normalised(const LevelVector& x) { return scaled(1 / std::sqrt(norm2(x)), x); }

LevelVector gamma5_times(int components, const LevelVector& v) {
  LevelVector r = v;
  for (size_t i = 0; i < r.size(); ++i)
    if (int(i % size_t(components)) >= components / 2) r[i] = -r[i];
  return r;
}

LevelOperator::LevelOperator(const Coord& extents, int components)
    : extents_{extents}, components_{components}, neighbours_(size_t(8 * product(extents))) {
  TRELLIS_REQUIRE(components > 0 && components % 2 == 0, "a site has ", components,
                  " components, expected an even number: half of them for each chirality");
  for (int64_t x = 0; x < volume(); ++x)
    for (int step = 0; step < 8; ++step) neighbours_[size_t(8 * x + step)] = neighbour(x, step, extents);
}

LevelVector LevelOperator::apply(const LevelVector& v) const {
  TRELLIS_REQUIRE(v.size() == size(), "a vector of ", v.size(), " components on a level of ", size());
  LevelVector out(v.size(), Complex<double>{0, 0});
  for (int64_t x = 0; x < volume(); ++x) {
    Complex<double>* here = &out[size_t(x * components_)];
    add_self(here, x, &v[size_t(x * components_)]);
    for (int step = 0; step < 8; ++step)
      add_leg(here, x, step, &v[size_t(neighbour_of(x, step) * components_)]);
  }
  return out;
}

namespace {
/// Returns the matrix of `add(out, in)`, which adds to `out`, column by column.
template <class Add>
Matrix site_matrix(int components, const Add& add) {
  Matrix M(components, components);
  for (int column = 0; column < components; ++column) {
    LevelVector unit(size_t(components), Complex<double>{0, 0}), image = unit;
    unit[size_t(column)] = {1, 0};
    add(image.data(), unit.data());
    for (int row = 0; row < components; ++row) M(row, column) = image[size_t(row)];
  }
  return M;
}
}  // namespace

Matrix LevelOperator::self_matrix(int64_t x) const {
  return site_matrix(components_,
                     [&](Complex<double>* out, const Complex<double>* in) { add_self(out, x, in); });
}

Matrix LevelOperator::self_inverse(int64_t x) const {
  try {
    return LU(self_matrix(x)).inverse();
  } catch (const NumericError&) {
    throw NumericError(message("the term of site ", to_string(site_coord(x, extents_)), " of the level ",
                               to_string(extents_),
                               " is singular, and its even-odd form needs the inverse: "
                               "take another mass, or other test vectors on the level above"));
  }
}

Matrix LevelOperator::leg_matrix(int64_t x, int step) const {
  return site_matrix(components_,
                     [&](Complex<double>* out, const Complex<double>* in) { add_leg(out, x, step, in); });
}

Matrix LevelOperator::dense() const {
  const int n = int(size());
  Matrix D(n, n);
  const auto add = [&](int64_t x, int64_t y, const Matrix& term) {
    for (int i = 0; i < components_; ++i)
      for (int j = 0; j < components_; ++j) {
        Complex<double>& entry = D(int(x) * components_ + i, int(y) * components_ + j);
        entry = entry + term(i, j);
      }
  };
  for (int64_t x = 0; x < volume(); ++x) {
    add(x, x, self_matrix(x));
    for (int step = 0; step < 8; ++step) add(x, neighbour_of(x, step), leg_matrix(x, step));
  }
  return D;
}

// ---- Wilson ----

WilsonLevel::WilsonLevel(const WilsonOperator& D, double even_twisted_mass)
    : LevelOperator(D.links().extents, 12), links_{D.links().links} {
  const WilsonParameters& p = D.parameters();
  for (int64_t x = 0; x < volume(); ++x) {
    const Coord at = site_coord(x, extents());
    for (int mu = 0; mu < Nd; ++mu) {
      const std::complex<double> z = at[mu] == extents()[mu] - 1 ? p.boundary[size_t(mu)] : 1.0;
      const double a = mu < 3 ? p.nu / p.xi0 : 1.0;
      auto& link = links_[size_t(4 * x + mu)];
      link = to_complex(-0.5 * a * z) * link;
    }
    const ChiralBlocks blocks = D.diagonal_blocks(x);
    const double rho = site_parity(at) == 0 ? even_twisted_mass : 0;
    for (size_t chirality = 0; chirality < 2; ++chirality) {
      Matrix A(6, 6);
      for (size_t i = 0; i < 6; ++i)
        for (size_t j = 0; j < 6; ++j) A(int(i), int(j)) = to_complex(blocks[chirality][i][j]);
      for (int i = 0; i < 6; ++i) A(i, i) = A(i, i) + Complex<double>{0, chirality == 0 ? rho : -rho};
      self_.push_back(A);
    }
  }
}

void WilsonLevel::add_self(Complex<double>* out, int64_t x, const Complex<double>* in) const {
  multiply_add(out, self_[size_t(2 * x)], in);
  multiply_add(out + 6, self_[size_t(2 * x + 1)], in + 6);
}

/// Adds one leg: gamma_mu exchanges the chiralities, is hermitian and squares to 1. Rows r = 0, 1 of (1 -+
/// gamma_mu) psi are h_r = psi_r -+ phase_r psi_{column_r}, and row column_r is -+ conj(phase_r) h_r.
void WilsonLevel::add_leg(Complex<double>* out, int64_t x, int step, const Complex<double>* in) const {
  static const std::array<GammaMatrix, Nd> gammas{gamma_mu(0), gamma_mu(1), gamma_mu(2), gamma_mu(3)};
  const int mu = direction(step);
  const bool is_forward = step == forward(mu);
  const GammaMatrix& gamma = gammas[size_t(mu)];
  const ColorMatrix<double>& link = links_[size_t(4 * (is_forward ? x : neighbour_of(x, step)) + mu)];
  for (int row = 0; row < 2; ++row) {
    const int column = gamma.column[size_t(row)];
    const Complex<double> phase = to_complex((is_forward ? -1.0 : 1.0) * gamma.phase[size_t(row)]);
    ColorVector<double> h;
    for (int c = 0; c < Nc; ++c) h.c[c] = in[3 * row + c] + phase * in[3 * column + c];
    h = is_forward ? link * h : dagger_mul(link, h);
    for (int c = 0; c < Nc; ++c) {
      out[3 * row + c] = out[3 * row + c] + h.c[c];
      conj_mul_add(out[3 * column + c], phase, h.c[c]);
    }
  }
}

void WilsonLevel::add_even_chirality(Complex<double>* out, int64_t x, const Complex<double>* in) const {
  if (site_parity(site_coord(x, extents())) != 0) return;
  for (int i = 0; i < 6; ++i) {
    out[i] = out[i] + in[i];
    out[6 + i] = out[6 + i] - in[6 + i];
  }
}

LevelVector restricted_to(const LevelOperator& D, const LevelVector& v, int parity) {
  LevelVector r = v;
  for (size_t i = 0; i < r.size(); ++i)
    if (site_parity(site_coord(int64_t(i) / D.components(), D.extents())) != parity) r[i] = {0, 0};
  return r;
}

}  // namespace trellis::reference
