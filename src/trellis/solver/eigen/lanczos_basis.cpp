#include "trellis/solver/eigen/lanczos_basis.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/algebra/random.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/field/storage/on_host.hpp"

namespace trellis {

void subtract(SpinorField& w, std::complex<double> h, const SpinorField& v) {
  combine(w, ComplexCoefficients{1.0}, w, ComplexCoefficients{-h}, v);
}

Vectors mixed(const Vectors& vectors, const std::vector<std::vector<std::complex<double>>>& mixtures,
              SolveCost& cost) {
  constexpr size_t most_columns = 8;
  const FieldList all = first_of(vectors, vectors.size());
  FieldSpec spec = vectors.front().spec();
  Vectors result;
  for (size_t begin = 0; begin < mixtures.size(); begin += most_columns) {
    stop_together(vectors.front().lattice().communicator());
    const size_t n = std::min(most_columns, mixtures.size() - begin);
    spec.rhs = int(n);
    SpinorField sums(vectors.front().lattice_ptr(), spec);
    FieldCoefficients minus(all.size(), ComplexCoefficients(n));
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t k = 0; k < n; ++k) minus[i][k] = -mixtures[begin + k][i];
    subtract_each(sums, minus, all);
    for (size_t k = 0; k < n; ++k) {
      result.push_back(SpinorField::like(vectors.front()));
      copy_columns(result.back(), 0, sums, int(k), 1);
    }
    cost.add_linear_algebra(vectors.front(), double(all.size()), 0, 0, 0);
    cost.add_linear_algebra(sums, 2.0 * std::ceil(double(all.size()) / 16) + 3, 4.0 * double(all.size()),
                            launches_of(vectors.front(), sums, all.size()), 0);
  }
  return result;
}

namespace {
/// Draws normal numbers that depend on (seed, number, global site, component) alone.
SpinorField random_vector(const LinearOperator& A, uint64_t seed, uint32_t number) {
  SpinorField v = A.make_field(1);
  const Geometry& g = v.geometry();
  const RandomKey key = random_key(seed, 0);
  const int reals = v.reals();
  on_host(v, [&](SpinorField& image) {
    for_each_index(int(g.local_volume()), [&](int site) {
      const Coord local = site_coord(site, g.local());
      const SitePosition at = image.layout().position(local);
      if (at.parity < first_parity(image.subset()) || at.parity > last_parity(image.subset())) return;
      const SiteRandom<double> random(key, RandomPurpose::eigensolver, number,
                                      uint64_t(g.global_index(local)));
      for (int slot = 0; slot < image.slots(); ++slot) {
        std::vector<double> site_reals(size_t(reals + reals % 2));
        for (int k = 0; k < reals; k += 2) {
          const auto pair = random.gaussian_pair(uint32_t((slot * reals + k) / 2));
          site_reals[size_t(k)] = pair[0];
          site_reals[size_t(k) + 1] = pair[1];
        }
        image.set_site(at, slot, site_reals.data());
      }
    });
  });
  return v;
}
}  // namespace

void LanczosBasis::grow_matrix(int size) {
  DenseMatrix larger(size);
  for (int i = 0; i < matrix_.n; ++i)
    for (int j = 0; j < matrix_.n; ++j) larger.at(i, j) = matrix_.at(i, j);
  matrix_ = std::move(larger);
}

/// Makes all columns of w orthogonal to the basis by classical Gram-Schmidt, twice, which is enough (L.
/// Giraud, J. Langou, M. Rozloznik, Comput. Math. Appl. 50 (2005) 1069). With a column of the matrix >= 0 the
/// entries <v_i, w_c> are kept from there on.
void LanczosBasis::orthogonalise(SpinorField& w, int column) {
  const FieldList all = first_of(basis_, basis_.size());
  for (int pass = 0; pass < 2; ++pass) {
    const FieldCoefficients h = dots_each(all, w);
    subtract_each(w, h, all);
    for (size_t i = 0; column >= 0 && i < h.size(); ++i)
      for (size_t c = 0; c < h[i].size(); ++c) matrix_.at(int(i), column + int(c)) += h[i][c];
    stop_point();
  }
  cost_.add_linear_algebra(basis_.front(), 4.0 * double(basis_.size()), 0, 0, 0);
  cost_.add_linear_algebra(w, 6.0 * std::ceil(double(basis_.size()) / 16), 16.0 * double(basis_.size()),
                           4 * launches_of(basis_.front(), w, basis_.size()), 2);
}

/// A vector that vanishes (the basis is invariant) is replaced by a random one.
void LanczosBasis::orthonormalise_block(Vectors& block) {
  for (size_t c = 0; c < block.size(); ++c) {
    const double before = std::sqrt(norm2(block[c]));
    bool is_new = false;
    for (;;) {
      const FieldList before_it = first_of(block, c);
      for (int pass = 0; pass < 2; ++pass) subtract_each(block[c], dots_each(before_it, block[c]), before_it);
      const double size = std::sqrt(norm2(block[c]));
      if (!std::isfinite(size)) throw NumericError(message(A_.name(), " returned NaN or Inf"));
      if (size > 1e-12 * before || is_new) {
        scale(block[c], 1 / size, block[c]);
        break;
      }
      block[c] = random_vector(A_, seed_, random_numbers_++);
      is_new = true;
      orthogonalise(block[c], -1);
    }
  }
}

void LanczosBasis::begin(Vectors block) {
  basis_.clear();
  matrix_ = DenseMatrix();
  next_ = std::move(block);
  orthonormalise_block(next_);
}

void LanczosBasis::begin_at_random() {
  Vectors block;
  for (int c = 0; c < block_; ++c) block.push_back(random_vector(A_, seed_, random_numbers_++));
  begin(std::move(block));
}

void LanczosBasis::extend(const ChebyshevFilter* filter) {
  const int first = size(), block = int(next_.size());
  SpinorField in = A_.make_field(block), out = A_.make_field(block);
  for (int c = 0; c < block; ++c) copy_columns(in, c, next_[size_t(c)], 0, 1);
  for (SpinorField& v : next_) basis_.push_back(std::move(v));
  next_.clear();
  grow_matrix(size());
  if (filter) {
    filter->apply(out, in, cost_);
  } else {
    A_.apply(out, in);
    scale(out, -1.0, out);
    cost_.add_applications(A_, block, 1);
  }
  orthogonalise(out, first);
  for (int c = 0; c < block; ++c) {
    next_.push_back(A_.make_field(1));
    copy_columns(next_.back(), 0, out, c, 1);
  }
  orthonormalise_block(next_);
}

void LanczosBasis::restart(int keep) {
  const HermitianEigensystem ritz = diagonalise(matrix_);
  const int n = matrix_.n;
  Vectors kept;
  matrix_ = DenseMatrix(keep);
  std::vector<std::vector<std::complex<double>>> mixtures;
  for (int k = 0; k < keep; ++k) {
    const int from = n - 1 - k;
    mixtures.emplace_back();
    for (int i = 0; i < n; ++i) mixtures.back().push_back(ritz.vectors.at(i, from));
    matrix_.at(k, k) = ritz.values[size_t(from)];
  }
  basis_ = mixed(basis_, mixtures, cost_);
}

}  // namespace trellis
