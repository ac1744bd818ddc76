#include "trellis/solver/eigen/lanczos_basis.hpp"

#include <cmath>

#include "trellis/algebra/random.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/host_image.hpp"

namespace trellis {

void subtract(SpinorField& w, std::complex<double> h, const SpinorField& v) {
  combine(w, ComplexCoefficients{1.0}, w, ComplexCoefficients{-h}, v);
}

namespace {
/// Normal numbers that depend on (seed, number, global site, component) alone.
SpinorField random_vector(const LinearOperator& A, uint64_t seed, uint32_t number) {
  SpinorField v = A.make_field(1);
  const Geometry& g = v.geometry();
  const RandomKey key = random_key(seed, 0);
  const int reals = v.reals();
  edit_on_host(v, [&](SpinorField& image) {
    for_each_index(int(g.local_volume()), [&](int site) {
      const Coord local = site_coord(site, g.local());
      const SitePosition at = image.layout().position(local);
      if (at.parity < first_parity(image.subset()) || at.parity > last_parity(image.subset())) return;
      const SiteRandom<double> random(key, RandomPurpose::eigensolver, number,
                                      uint64_t(g.global_index(local)));
      for (int slot = 0; slot < image.slots(); ++slot) {
        double site_reals[72] = {};
        for (int k = 0; k < reals; k += 2) {
          const auto pair = random.gaussian_pair(uint32_t((slot * reals + k) / 2));
          site_reals[k] = pair[0];
          site_reals[k + 1] = pair[1];
        }
        image.set_site(at, slot, site_reals);
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

/// Twice is enough (L. Giraud, J. Langou, M. Rozloznik, Comput. Math. Appl. 50 (2005) 1069). With a column of
/// the matrix >= 0 its entries <v_i, w> are kept.
void LanczosBasis::orthogonalise(SpinorField& w, int column) {
  for (int pass = 0; pass < 2; ++pass)
    for (size_t i = 0; i < basis_.size(); ++i) {
      const std::complex<double> h = dot(basis_[i], w);
      subtract(w, h, basis_[i]);
      if (column >= 0) matrix_.at(int(i), column) += h;
      stop_point();
    }
  cost_.add_linear_algebra(w, 10.0 * double(basis_.size()), 16.0 * double(basis_.size()),
                           4 * int(basis_.size()), 2 * int(basis_.size()));
}

/// A vector that vanishes (the basis is invariant) is replaced by a random one.
void LanczosBasis::orthonormalise_block(Vectors& block) {
  for (size_t c = 0; c < block.size(); ++c) {
    const double before = std::sqrt(norm2(block[c]));
    bool is_new = false;
    for (;;) {
      for (int pass = 0; pass < 2; ++pass)
        for (size_t d = 0; d < c; ++d) subtract(block[c], dot(block[d], block[c]), block[d]);
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
  for (int c = 0; c < block; ++c) {
    next_.push_back(A_.make_field(1));
    copy_columns(next_.back(), 0, out, c, 1);
    orthogonalise(next_.back(), first + c);
  }
  orthonormalise_block(next_);
}

void LanczosBasis::restart(int keep) {
  const HermitianEigensystem ritz = diagonalise(matrix_);
  const int n = matrix_.n;
  Vectors kept;
  matrix_ = DenseMatrix(keep);
  for (int k = 0; k < keep; ++k) {
    const int from = n - 1 - k;
    stop_together(basis_.front().lattice().communicator());
    SpinorField v = A_.make_field(1);
    for (int i = 0; i < n; ++i) subtract(v, -ritz.vectors.at(i, from), basis_[size_t(i)]);
    kept.push_back(std::move(v));
    matrix_.at(k, k) = ritz.values[size_t(from)];
  }
  cost_.add_linear_algebra(kept.front(), 3.0 * n * keep, 8.0 * n * keep, n * keep, 0);
  basis_ = std::move(kept);
}

}  // namespace trellis
