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
#include "trellis/view/site_elements.hpp"

namespace trellis {

struct CoarseHopCall {
  const int32_t* neighbours = nullptr;       ///< [site][leg]: place << 1 | is_ghost, of vectors
  const int32_t* back_links = nullptr;       ///< [site][mu]: likewise, of the links of x - mu
  RawField in, ghosts;                       ///< vectors of the other parity
  RawField links, links_there, link_ghosts;  ///< F of the parity of out, of the other one, and beyond
  RawField add, out;                         ///< out = add + hop H in; add may be null, or out
  double hop = 1;
  bool is_dagger = false;  ///< H^dagger = g5 H g5
  int vectors = 0, rhs = 1;
};

/// out = add + M in, or M^dagger in. @pre out is not in
struct CoarseMatrixCall {
  RawField matrix, in, add, out;
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
template <class Layout, class Storage>
struct CoarseRow {
  using Vectors = SiteElements<Layout, Storage>;
  int n;  ///< rows

  TRELLIS_SITE_FN Complex<Storage> times(const Vectors& matrix, int m_site, int m_slot, const Vectors& x,
                                         int site, int slot, int row, bool has_signs) const {
    Storage a = 0, b = 0, c = 0, d = 0;
    for (int k = 0; k < n; ++k) {
      const Storage re = *matrix.element(m_site, 0, m_slot, 2 * (k * n + row)),
                    im = *matrix.element(m_site, 0, m_slot, 2 * (k * n + row) + 1);
      Storage x_re = *x.element(site, 0, slot, 2 * k), x_im = *x.element(site, 0, slot, 2 * k + 1);
      if (has_signs && k >= n / 2) {
        x_re = -x_re;
        x_im = -x_im;
      }
      a = fma(re, x_re, a);
      b = fma(im, x_re, b);
      c = fma(re, x_im, c);
      d = fma(im, x_im, d);
    }
    return {a - d, b + c};
  }
  TRELLIS_SITE_FN Complex<Storage> dagger_times(const Vectors& matrix, int m_site, int m_slot,
                                                const Vectors& x, int site, int slot, int row,
                                                bool has_signs) const {
    Storage re[partial_sums] = {}, im[partial_sums] = {};
    for (int k = 0; k < 2 * n; ++k) {
      const Storage m = *matrix.element(m_site, 0, m_slot, 2 * row * n + k);
      const bool is_negative = has_signs && k >= n;
      const Storage same = *x.element(site, 0, slot, k), other = *x.element(site, 0, slot, k ^ 1);
      re[k % partial_sums] = fma(m, is_negative ? -same : same, re[k % partial_sums]);
      im[k % partial_sums] = fma(m, is_negative == (k % 2 == 0) ? -other : other, im[k % partial_sums]);
    }
    return {sum_in_halves(re), sum_in_halves(im)};
  }
};

template <class Layout, class Storage>
class CoarseHopOfRows {
 public:
  using Vectors = SiteElements<Layout, Storage>;
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
        is_dagger_{call.is_dagger} {}

  static int slots(int vectors, int rhs) { return 2 * vectors * rhs; }

  /// slot = right-hand side * rows + row
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int r = slot / row_.n, row = slot % row_.n;
    const bool is_lower = row >= row_.n / 2;
    Complex<Storage> sum{0, 0};
    for (int leg = 0; leg < 8; ++leg) {
      const int32_t entry = neighbours_[size_t(site) * 8 + size_t(leg)];
      const Vectors& x = entry & 1 ? ghosts_ : in_;
      const int place = entry >> 1;
      const bool is_forward = leg % 2 == 0, has_signs = is_forward == is_dagger_;
      const Complex<Storage> product = is_forward
                                           ? row_.times(links_, site, leg / 2, x, place, r, row, has_signs)
                                           : from_behind(site, leg / 2, x, place, r, row, has_signs);
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
  TRELLIS_SITE_FN Complex<Storage> from_behind(int site, int mu, const Vectors& x, int place, int r, int row,
                                               bool has_signs) const {
    const int32_t link = back_links_[size_t(site) * 4 + size_t(mu)];
    return row_.dagger_times(link & 1 ? link_ghosts_ : links_there_, link >> 1, mu, x, place, r, row,
                             has_signs);
  }

  const int32_t *neighbours_, *back_links_;
  Vectors in_, ghosts_, add_, out_, links_, links_there_, link_ghosts_;
  CoarseRow<Layout, Storage> row_;
  Storage hop_;
  bool is_dagger_;
};

template <class Layout, class Storage>
class CoarseMatrixOfRows {
 public:
  using Vectors = SiteElements<Layout, Storage>;
  explicit CoarseMatrixOfRows(const CoarseMatrixCall& call)
      : matrix_{call.matrix, 8 * call.vectors * call.vectors},
        in_{call.in, 4 * call.vectors},
        add_{call.add, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        row_{2 * call.vectors},
        is_dagger_{call.is_dagger} {}

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int r = slot / row_.n, row = slot % row_.n;
    const Complex<Storage> product = is_dagger_
                                         ? row_.dagger_times(matrix_, site, 0, in_, site, r, row, false)
                                         : row_.times(matrix_, site, 0, in_, site, r, row, false);
    Storage &re = *out_.element(site, 0, r, 2 * row), &im = *out_.element(site, 0, r, 2 * row + 1);
    const Storage add_re = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row),
                  add_im = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row + 1);
    re = add_re + product.re;
    im = add_im + product.im;
  }

 private:
  Vectors matrix_, in_, add_, out_;
  CoarseRow<Layout, Storage> row_;
  bool is_dagger_;
};

template <class Layout, class Storage>
void launch_coarse_hop(const CoarseHopCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_coarse_matrix(const CoarseMatrixCall& call, const SiteRange& sites);

}  // namespace trellis
