#pragma once
/// The coarse operator of multigrid: dense complex matrices of 2 n rows between the coarse sites,
///
///   (H x)(X) = sum_mu [ F_mu(X) x(X + mu) + B_mu(X) x(X - mu) ],   B_mu(X) = g5 F_mu(X - mu)^dagger g5,
///
/// and one matrix at each site. Numbers of a vector lie as [chirality][vector][re, im], matrices by columns,
/// so that CPUs take several rows at once, with one site a block. GPUs have a thread for each row, with the
/// same bits.
///
/// Of one product M x each part of a row is summed over the columns in order. Of M^dagger x a row is the sum
/// of 16 numbers, which have every sixteenth real each.
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/kernels/multigrid/aggregate_products.hpp"
#include "trellis/kernels/multigrid/coarse_legs.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

struct CoarseHopCall {
  const int32_t* neighbours = nullptr;       ///< [site][leg]: place << 1 | is_ghost, of vectors
  const int32_t* back_links = nullptr;       ///< [site][mu]: likewise, of the links of x - mu
  RawField in, ghosts;                       ///< vectors of the other parity
  RawField links, links_there, link_ghosts;  ///< F of the parity of out, of the other one, and beyond
  RawField add, out;                         ///< out = add + hop H in; add may be null, or out
  double hop = 1;
  bool is_half = false;    ///< links in 16-bit fixed point
  bool is_dagger = false;  ///< H^dagger = g5 H g5
  int vectors = 0, rhs = 1;
  unsigned legs_taken = all_legs;  ///< of H
};

/// out = add + M in, or M^dagger in. @pre out is not in
struct CoarseMatrixCall {
  RawField matrix, in, add, out;
  bool is_half = false;  ///< the matrix in 16-bit fixed point
  bool is_dagger = false;
  int vectors = 0, rhs = 1;
};

inline constexpr int most_coarse_reals = 4 * most_vectors;
inline constexpr int partial_sums = 16;

/// The sum of 16 numbers in halves.
template <class Scalar>
TRELLIS_SITE_FN Scalar sum_in_halves(Scalar (&part)[partial_sums]) {
  for (int half = partial_sums / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) part[i] = part[i] + part[i + half];
  return part[0];
}

/// Products of one row, for layouts with a thread a row.
template <class Layout, class Storage, class MatrixStorage>
struct CoarseRow {
  using Vectors = SiteElements<Layout, Storage>;
  using Matrices = SiteElements<Layout, MatrixStorage>;
  int n;  ///< rows

  /// A matrix and a vector, each at a site and slot.
  struct Factors {
    const Matrices& matrices;
    int m_site, m_slot;
    const Vectors& vectors;
    int site, slot;
    bool has_signs;  ///< of the vector's lower chirality

    TRELLIS_SITE_FN Storage m(int i) const { return Storage(*matrices.element(m_site, 0, m_slot, i)); }
    TRELLIS_SITE_FN Storage x(int i) const { return *vectors.element(site, 0, slot, i); }
    TRELLIS_SITE_FN Storage unit() const { return Storage(matrices.unit(m_site, m_slot)); }
  };

  TRELLIS_SITE_FN Complex<Storage> times(const Factors& f, int row) const {
    Storage a = 0, b = 0, c = 0, d = 0;
    for (int k = 0; k < n; ++k) {
      const Storage re = f.m(2 * (k * n + row)), im = f.m(2 * (k * n + row) + 1);
      const bool is_negative = f.has_signs && k >= n / 2;
      const Storage x_re = is_negative ? -f.x(2 * k) : f.x(2 * k),
                    x_im = is_negative ? -f.x(2 * k + 1) : f.x(2 * k + 1);
      a = fma(re, x_re, a);
      b = fma(im, x_re, b);
      c = fma(re, x_im, c);
      d = fma(im, x_im, d);
    }
    return {f.unit() * (a - d), f.unit() * (b + c)};
  }
  TRELLIS_SITE_FN Complex<Storage> dagger_times(const Factors& f, int row) const {
    Storage re[partial_sums] = {}, im[partial_sums] = {};
    for (int k = 0; k < 2 * n; ++k) {
      const Storage m = f.m(2 * row * n + k), same = f.x(k), other = f.x(k ^ 1);
      const bool is_negative = f.has_signs && k >= n;
      re[k % partial_sums] = fma(m, is_negative ? -same : same, re[k % partial_sums]);
      im[k % partial_sums] = fma(m, is_negative == (k % 2 == 0) ? -other : other, im[k % partial_sums]);
    }
    return {f.unit() * sum_in_halves(re), f.unit() * sum_in_halves(im)};
  }
};

template <class Layout, class Storage, class MatrixStorage>
class CoarseHopOfRows {
 public:
  using Row = CoarseRow<Layout, Storage, MatrixStorage>;
  using Vectors = typename Row::Vectors;
  using Matrices = typename Row::Matrices;
  explicit CoarseHopOfRows(const CoarseHopCall& call)
      : neighbours_{call.neighbours},
        back_links_{call.back_links},
        in_{call.in, 4 * call.vectors},
        ghosts_{call.ghosts, 4 * call.vectors},
        add_{call.add, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        links_{call.links, 8 * call.vectors * call.vectors},
        links_there_{call.links_there, 8 * call.vectors * call.vectors},
        link_ghosts_{call.link_ghosts, 8 * call.vectors * call.vectors},
        row_{2 * call.vectors},
        hop_{Storage(call.hop)},
        legs_taken_{call.legs_taken},
        is_dagger_{call.is_dagger} {}

  static int slots(int vectors, int rhs) { return 2 * vectors * rhs; }

  /// slot = right-hand side * rows + row
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int r = slot / row_.n, row = slot % row_.n;
    const bool is_lower = row >= row_.n / 2;
    Complex<Storage> sum{0, 0};
    for (int leg = 0; leg < 8; ++leg) {
      if ((legs_taken_ >> leg & 1) == 0) continue;
      const int32_t entry = neighbours_[size_t(site) * 8 + size_t(leg)],
                    link = back_links_[size_t(site) * 4 + size_t(leg / 2)];
      const Vectors& x = entry & 1 ? ghosts_ : in_;
      const bool is_forward = leg % 2 == 0, has_signs = is_forward == is_dagger_;
      const Matrices& links = is_forward ? links_ : link & 1 ? link_ghosts_ : links_there_;
      const typename Row::Factors factors{links,    is_forward ? site : link >> 1, leg / 2, x, entry >> 1, r,
                                          has_signs};
      const Complex<Storage> product =
          is_forward ? row_.times(factors, row) : row_.dagger_times(factors, row);
      const bool is_negative = has_signs && is_lower;
      sum.re = is_negative ? sum.re - product.re : sum.re + product.re;
      sum.im = is_negative ? sum.im - product.im : sum.im + product.im;
    }
    Storage &re = *out_.element(site, 0, r, 2 * row), &im = *out_.element(site, 0, r, 2 * row + 1);
    const Storage add_re = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row),
                  add_im = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row + 1);
    re = fma(hop_, sum.re, add_re);
    im = fma(hop_, sum.im, add_im);
  }

 private:
  const int32_t *neighbours_, *back_links_;
  Vectors in_, ghosts_, add_, out_;
  Matrices links_, links_there_, link_ghosts_;
  Row row_;
  Storage hop_;
  unsigned legs_taken_;
  bool is_dagger_;
};

template <class Layout, class Storage, class MatrixStorage>
class CoarseMatrixOfRows {
 public:
  using Row = CoarseRow<Layout, Storage, MatrixStorage>;
  using Vectors = typename Row::Vectors;
  explicit CoarseMatrixOfRows(const CoarseMatrixCall& call)
      : matrix_{call.matrix, 8 * call.vectors * call.vectors},
        in_{call.in, 4 * call.vectors},
        add_{call.add, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        row_{2 * call.vectors},
        is_dagger_{call.is_dagger} {}

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int r = slot / row_.n, row = slot % row_.n;
    const typename Row::Factors factors{matrix_, site, 0, in_, site, r, false};
    const Complex<Storage> product = is_dagger_ ? row_.dagger_times(factors, row) : row_.times(factors, row);
    Storage &re = *out_.element(site, 0, r, 2 * row), &im = *out_.element(site, 0, r, 2 * row + 1);
    const Storage add_re = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row),
                  add_im = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row + 1);
    re = add_re + product.re;
    im = add_im + product.im;
  }

 private:
  typename Row::Matrices matrix_;
  Vectors in_, add_, out_;
  Row row_;
  bool is_dagger_;
};

template <class Layout, class Storage>
void launch_coarse_hop(const CoarseHopCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_coarse_matrix(const CoarseMatrixCall& call, const SiteRange& sites);

}  // namespace trellis
