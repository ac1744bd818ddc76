#pragma once
/// The coarse operator of multigrid has dense complex matrices of 2 n rows between the coarse sites,
///
///   (H x)(X) = sum_mu [ F_mu(X) x(X + mu) + B_mu(X) x(X - mu) ],   B_mu(X) = g5 F_mu(X - mu)^dagger g5,
///
/// It has also one matrix at each site. Numbers of a vector lie as [chirality][vector][re, im], matrices by
/// columns, so that CPUs take several rows at once, with one site a block. GPUs have a thread for each row
/// and a few right-hand sides, with the same bits.
///
/// Of one product M x each part of a row is summed over the columns in order. Of M^dagger x a row is the sum
/// of 16 numbers, which have every sixteenth real each.
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/kernels/multigrid/aggregate_products.hpp"
#include "trellis/kernels/multigrid/coarse_legs.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

struct CoarseHopCall {
  const int32_t* neighbours = nullptr;  ///< they are [site][leg]: place << 1 | is_ghost, of vectors
  const int32_t* back_links = nullptr;  ///< they are [site][mu], likewise, of the links of x - mu
  RawField in, ghosts;                  ///< they are vectors of the other parity
  /// They are F of the parity of out, of the other one, and beyond.
  RawField links, links_there, link_ghosts;
  RawField add, out;  ///< it is out = add + hop H in; add may be null, or out
  double hop = 1;
  bool is_half = false;    ///< links are in 16-bit fixed point
  bool is_dagger = false;  ///< it takes H^dagger = g5 H g5
  int vectors = 0, rhs = 1;
  unsigned legs_taken = all_legs;  ///< H takes these
};

/// The call is out = add + M in, or M^dagger in. @pre out is not in
struct CoarseMatrixCall {
  RawField matrix, in, add, out;
  bool is_half = false;  ///< the matrix is in 16-bit fixed point
  bool is_dagger = false;
  int vectors = 0, rhs = 1;
};

inline constexpr int most_coarse_reals = 4 * most_vectors;
inline constexpr int partial_sums = 16;

/// Returns the sum of 16 numbers in halves.
template <int half = partial_sums / 2, class Scalar>
TRELLIS_SITE_FN Scalar sum_in_halves(Scalar (&part)[partial_sums]) {
  unroll<half>([&](auto i) TRELLIS_INLINE_LAMBDA { part[i] = part[i] + part[i + half]; });
  if constexpr (half > 1)
    return sum_in_halves<half / 2>(part);
  else
    return part[0];
}

/// It tells where the numbers of a site lie on a GPU. @pre their number is a multiple of those of a 16-byte
/// load
template <class Element>
class GroupedNumbers {
 public:
  template <class Elements>
  TRELLIS_SITE_FN GroupedNumbers(const Elements& field, int site, int slot)
      : first_{field.element(site, 0, slot, 0)} {}
  /// Reads the numbers i (even) and i + 1.
  template <class Number>
  TRELLIS_SITE_FN void pair(int i, Number (&two)[2]) const {
    const unsigned k = unsigned(i), length = unsigned(gpu_vector_length<Element>);
    const auto v = ElementVector<Element, 2>::template load<Access::constant>(
        first_ + size_t(k / length) * (length * unsigned(GpuLayout::warp)) + k % length);
    two[0] = Number(v.template get<0>());
    two[1] = Number(v.template get<1>());
  }

 private:
  const Element* first_;
};

/// It forms products of one row with a few columns, for layouts with a thread for each of those. A number of
/// the matrix is read once for all of them.
template <class Layout, class Storage, class MatrixStorage, int columns>
struct CoarseRow {
  using Vectors = SiteElements<Layout, Storage>;
  using Matrices = SiteElements<Layout, MatrixStorage>;
  using Numbers = GroupedNumbers<Storage>;
  int n;  ///< there are so many rows

  /// It has a matrix, and right-hand sides of a vector from the first on; those beyond the last are the last
  /// one.
  struct Factors {
    const Matrices& matrices;
    int m_site, m_slot;
    const Vectors& vectors;
    int site, first, last;
    bool has_signs;  ///< the vector's lower chirality has them

    TRELLIS_SITE_FN GroupedNumbers<typename Matrices::Element> m() const {
      return {matrices, m_site, m_slot};
    }
    TRELLIS_SITE_FN Numbers x(int c) const { return {vectors, site, first + c < last ? first + c : last}; }
    TRELLIS_SITE_FN Storage unit() const { return Storage(matrices.unit(m_site, m_slot)); }
  };

  TRELLIS_SITE_FN void times(const Factors& f, int row, Complex<Storage> (&product)[columns]) const {
    Storage sum[columns][4];
    unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
      unroll<4>([&](auto i) TRELLIS_INLINE_LAMBDA { sum[c][i] = 0; });
    });
    const auto matrix = f.m();
    for (int k = 0; k < n; ++k) {
      Storage m[2];
      matrix.pair(2 * (k * n + row), m);
      const bool is_negative = f.has_signs && k >= n / 2;
      unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
        Storage x[2];
        f.x(c).pair(2 * k, x);
        const Storage re = is_negative ? -x[0] : x[0], im = is_negative ? -x[1] : x[1];
        sum[c][0] = fma(m[0], re, sum[c][0]);
        sum[c][1] = fma(m[1], re, sum[c][1]);
        sum[c][2] = fma(m[0], im, sum[c][2]);
        sum[c][3] = fma(m[1], im, sum[c][3]);
      });
    }
    unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
      product[c] = {f.unit() * (sum[c][0] - sum[c][3]), f.unit() * (sum[c][1] + sum[c][2])};
    });
  }
  TRELLIS_SITE_FN void dagger_times(const Factors& f, int row, Complex<Storage> (&product)[columns]) const {
    Storage re[columns][partial_sums], im[columns][partial_sums];
    unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
      unroll<partial_sums>([&](auto i) TRELLIS_INLINE_LAMBDA { re[c][i] = im[c][i] = 0; });
    });
    const auto matrix = f.m();
    for (int begin = 0; begin < 2 * n; begin += partial_sums)
      unroll<partial_sums / 2>([&](auto pair) TRELLIS_INLINE_LAMBDA {
        constexpr int i = 2 * pair;
        const int k = begin + i;
        if (k >= 2 * n) return;
        Storage m[2];
        matrix.pair(2 * row * n + k, m);
        const bool is_negative = f.has_signs && k >= n;
        unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
          Storage x[2];
          f.x(c).pair(k, x);
          const Storage x_re = is_negative ? -x[0] : x[0], x_im = is_negative ? -x[1] : x[1];
          re[c][i] = fma(m[0], x_re, re[c][i]);
          im[c][i] = fma(m[0], x_im, im[c][i]);
          re[c][i + 1] = fma(m[1], x_im, re[c][i + 1]);
          im[c][i + 1] = fma(m[1], -x_re, im[c][i + 1]);
        });
      });
    unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
      product[c] = {f.unit() * sum_in_halves(re[c]), f.unit() * sum_in_halves(im[c])};
    });
  }

  /// Returns how many groups of columns all right-hand sides have.
  static int groups(int rhs) { return (rhs + columns - 1) / columns; }
};

template <class Layout, class Storage, class MatrixStorage, int columns>
class CoarseHopOfRows {
 public:
  using Row = CoarseRow<Layout, Storage, MatrixStorage, columns>;
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
        rhs_{call.rhs},
        groups_{Row::groups(call.rhs)},
        hop_{Storage(call.hop)},
        legs_taken_{call.legs_taken},
        is_dagger_{call.is_dagger} {}

  static int slots(int vectors, int rhs) { return 2 * vectors * Row::groups(rhs); }

  /// The slot is row * groups + group of columns: threads that read the same row run side by side.
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int row = slot / groups_, first = slot % groups_ * columns;
    const bool is_lower = row >= row_.n / 2;
    Complex<Storage> sum[columns];
    unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA { sum[c] = {0, 0}; });
    for (int leg = 0; leg < 8; ++leg) {
      if ((legs_taken_ >> leg & 1) == 0) continue;
      const int32_t entry = neighbours_[size_t(site) * 8 + size_t(leg)],
                    link = back_links_[size_t(site) * 4 + size_t(leg / 2)];
      const Vectors& x = entry & 1 ? ghosts_ : in_;
      const bool is_forward = leg % 2 == 0, has_signs = is_forward == is_dagger_;
      const Matrices& links = is_forward ? links_ : link & 1 ? link_ghosts_ : links_there_;
      const typename Row::Factors factors{
          links, is_forward ? site : link >> 1, leg / 2, x, entry >> 1, first, rhs_ - 1, has_signs};
      Complex<Storage> product[columns];
      is_forward ? row_.times(factors, row, product) : row_.dagger_times(factors, row, product);
      const bool is_negative = has_signs && is_lower;
      unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
        sum[c].re = is_negative ? sum[c].re - product[c].re : sum[c].re + product[c].re;
        sum[c].im = is_negative ? sum[c].im - product[c].im : sum[c].im + product[c].im;
      });
    }
    unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
      const int r = first + c;
      if (r >= rhs_) return;
      Storage &re = *out_.element(site, 0, r, 2 * row), &im = *out_.element(site, 0, r, 2 * row + 1);
      const Storage add_re = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row),
                    add_im = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row + 1);
      re = fma(hop_, sum[c].re, add_re);
      im = fma(hop_, sum[c].im, add_im);
    });
  }

 private:
  const int32_t *neighbours_, *back_links_;
  Vectors in_, ghosts_, add_, out_;
  Matrices links_, links_there_, link_ghosts_;
  Row row_;
  int rhs_, groups_;
  Storage hop_;
  unsigned legs_taken_;
  bool is_dagger_;
};

template <class Layout, class Storage, class MatrixStorage, int columns>
class CoarseMatrixOfRows {
 public:
  using Row = CoarseRow<Layout, Storage, MatrixStorage, columns>;
  using Vectors = typename Row::Vectors;
  explicit CoarseMatrixOfRows(const CoarseMatrixCall& call)
      : matrix_{call.matrix, 8 * call.vectors * call.vectors},
        in_{call.in, 4 * call.vectors},
        add_{call.add, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        row_{2 * call.vectors},
        rhs_{call.rhs},
        groups_{Row::groups(call.rhs)},
        is_dagger_{call.is_dagger} {}

  static int slots(int vectors, int rhs) { return 2 * vectors * Row::groups(rhs); }

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int row = slot / groups_, first = slot % groups_ * columns;
    const typename Row::Factors factors{matrix_, site, 0, in_, site, first, rhs_ - 1, false};
    Complex<Storage> product[columns];
    is_dagger_ ? row_.dagger_times(factors, row, product) : row_.times(factors, row, product);
    unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
      const int r = first + c;
      if (r >= rhs_) return;
      Storage &re = *out_.element(site, 0, r, 2 * row), &im = *out_.element(site, 0, r, 2 * row + 1);
      const Storage add_re = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row),
                    add_im = add_.is_null() ? 0 : *add_.element(site, 0, r, 2 * row + 1);
      re = add_re + product[c].re;
      im = add_im + product[c].im;
    });
  }

 private:
  typename Row::Matrices matrix_;
  Vectors in_, add_, out_;
  Row row_;
  int rhs_, groups_;
  bool is_dagger_;
};

template <class Layout, class Storage>
void launch_coarse_hop(const CoarseHopCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_coarse_matrix(const CoarseMatrixCall& call, const SiteRange& sites);

}  // namespace trellis
