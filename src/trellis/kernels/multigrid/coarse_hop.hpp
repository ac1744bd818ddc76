#pragma once
/// The coarse operator of multigrid has dense complex matrices of 2 n rows between the coarse sites,
///
///   (H x)(X) = sum_mu [ F_mu(X) x(X + mu) + B_mu(X) x(X - mu) ],   B_mu(X) = g5 F_mu(X - mu)^dagger g5,
///
/// It has also one matrix at each site. Numbers of a vector lie as [chirality][vector][re, im], matrices by
/// columns, so that CPUs take several rows at once, with one site a block. GPUs have a thread for a row or
/// two, a few right-hand sides and one leg, with the same bits.
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
  /// Reads `count` (2 or 4) numbers from i on, with as few loads as can be. @pre i is a multiple of count
  template <int count, class Number>
  TRELLIS_SITE_FN void read(int i, Number (&numbers)[count]) const {
    constexpr int together = count < length ? count : length;
    unroll<count / together>([&](auto part) TRELLIS_INLINE_LAMBDA {
      const unsigned k = unsigned(i + part * together);
      const auto v = ElementVector<Element, together>::template load<Access::constant>(
          first_ + size_t(k / unsigned(length)) * unsigned(length * GpuLayout::warp) + k % unsigned(length));
      unroll<together>([&](auto j) TRELLIS_INLINE_LAMBDA {
        numbers[part * together + j] = Number(v.template get<int(j)>());
      });
    });
  }

 private:
  static constexpr int length = gpu_vector_length<Element>;
  const Element* first_;
};

/// It forms products of a few rows (1 or 2) with a few columns, for layouts with a thread for each of those.
/// A number of the matrix is read once for all columns, one of a vector once for all rows.
template <class Layout, class Storage, class MatrixStorage, int rows, int columns>
struct CoarseRows {
  using Vectors = SiteElements<Layout, Storage>;
  using Matrices = SiteElements<Layout, MatrixStorage>;
  /// These numbers belong to each of the rows and right-hand sides.
  struct Products {
    Complex<Storage> of[rows][columns];
  };
  int n;  ///< there are so many rows, an even number

  /// It has a matrix, and right-hand sides of a vector from the first on; those beyond the last are the last
  /// one.
  struct Factors {
    const Matrices& matrices;
    int m_site, m_slot;
    const Vectors& vectors;
    int site, first, last;
    bool has_signs;  ///< the vector's lower chirality has them
    int n;

    TRELLIS_SITE_FN GroupedNumbers<typename Matrices::Element> m() const {
      return {matrices, m_site, m_slot};
    }
    /// Reads the numbers k (even) and k + 1 of the vectors. The middle may lie between the two.
    template <int first_column, int count>
    TRELLIS_SITE_FN void read_two(int k, Storage (&x)[count][4]) const {
      const bool negates_first = has_signs && k >= n / 2, negates_second = has_signs && k + 1 >= n / 2;
      unroll<count>([&](auto c) TRELLIS_INLINE_LAMBDA {
        const int column = first + first_column + c;
        const GroupedNumbers<Storage> vector(vectors, site, column < last ? column : last);
        vector.read(2 * k, x[c]);
        for (int i = 0; i < 2; ++i) x[c][i] = negates_first ? -x[c][i] : x[c][i];
        for (int i = 2; i < 4; ++i) x[c][i] = negates_second ? -x[c][i] : x[c][i];
      });
    }
    TRELLIS_SITE_FN Storage unit() const { return Storage(matrices.unit(m_site, m_slot)); }
  };

  TRELLIS_SITE_FN void times(const Factors& f, int row, Products& all) const {
    Storage sum[rows][columns][4];
    each([&](auto r, auto c)
             TRELLIS_INLINE_LAMBDA { unroll<4>([&](auto i) TRELLIS_INLINE_LAMBDA { sum[r][c][i] = 0; }); });
    const auto matrix = f.m();
    const auto add_two = [&](int k) TRELLIS_INLINE_LAMBDA {
      Storage x[columns][4];
      f.template read_two<0>(k, x);
      unroll<2>([&](auto i) TRELLIS_INLINE_LAMBDA {
        Storage m[2 * rows];
        matrix.read(2 * ((k + i) * n + row), m);
        each([&](auto r, auto c) TRELLIS_INLINE_LAMBDA {
          const Storage re = x[c][2 * i], im = x[c][2 * i + 1];
          sum[r][c][0] = fma(m[2 * r], re, sum[r][c][0]);
          sum[r][c][1] = fma(m[2 * r + 1], re, sum[r][c][1]);
          sum[r][c][2] = fma(m[2 * r], im, sum[r][c][2]);
          sum[r][c][3] = fma(m[2 * r + 1], im, sum[r][c][3]);
        });
      });
    };
    // Loads of several steps are on their way together.
    constexpr int steps = 2;
    int k = 0;
    for (; k + 2 * steps <= n; k += 2 * steps)
      unroll<steps>([&](auto step) TRELLIS_INLINE_LAMBDA { add_two(k + 2 * step); });
    for (; k < n; k += 2) add_two(k);
    const Storage unit = f.unit();
    each([&](auto r, auto c) TRELLIS_INLINE_LAMBDA {
      all.of[r][c] = {unit * (sum[r][c][0] - sum[r][c][3]), unit * (sum[r][c][1] + sum[r][c][2])};
    });
  }

  /// Row follows row, and pair of columns pair of columns, as registers hold the sums of one.
  TRELLIS_SITE_FN void dagger_times(const Factors& f, int row, Products& all) const {
    constexpr int together = columns % 2 == 0 ? 2 : 1;
    for (int r = 0; r < rows; ++r)
      unroll<columns / together>([&](auto group) TRELLIS_INLINE_LAMBDA {
        dagger_row<together * group, together>(f, row + r, all.of[r]);
      });
  }

 private:
  template <class F>
  TRELLIS_SITE_FN static void each(const F& f) {
    unroll<rows>([&](auto r) TRELLIS_INLINE_LAMBDA {
      unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA { f(r, c); });
    });
  }

  template <int first_column, int count>
  TRELLIS_SITE_FN void dagger_row(const Factors& f, int row, Complex<Storage> (&product)[columns]) const {
    Storage re[count][partial_sums], im[count][partial_sums];
    unroll<count>([&](auto c) TRELLIS_INLINE_LAMBDA {
      unroll<partial_sums>([&](auto i) TRELLIS_INLINE_LAMBDA { re[c][i] = im[c][i] = 0; });
    });
    const auto matrix = f.m();
    const auto add_four = [&](int real, auto part) TRELLIS_INLINE_LAMBDA {
      Storage x[count][4], m[4];
      f.template read_two<first_column>(real / 2, x);
      matrix.read(2 * row * n + real, m);
      unroll<count>([&](auto c) TRELLIS_INLINE_LAMBDA {
        unroll<2>([&](auto pair) TRELLIS_INLINE_LAMBDA {
          constexpr int i = 2 * pair, at = 4 * part + i;
          re[c][at] = fma(m[i], x[c][i], re[c][at]);
          im[c][at] = fma(m[i], x[c][i + 1], im[c][at]);
          re[c][at + 1] = fma(m[i + 1], x[c][i + 1], re[c][at + 1]);
          im[c][at + 1] = fma(m[i + 1], -x[c][i], im[c][at + 1]);
        });
      });
    };
    int begin = 0;
    for (; begin + partial_sums <= 2 * n; begin += partial_sums)
      unroll<partial_sums / 4>([&](auto part) TRELLIS_INLINE_LAMBDA { add_four(begin + 4 * part, part); });
    unroll<partial_sums / 4>([&](auto part) TRELLIS_INLINE_LAMBDA {
      if (begin + 4 * part < 2 * n) add_four(begin + 4 * part, part);
    });
    const Storage unit = f.unit();
    unroll<count>([&](auto c) TRELLIS_INLINE_LAMBDA {
      product[first_column + c] = {unit * sum_in_halves(re[c]), unit * sum_in_halves(im[c])};
    });
  }
};

/// A slot is group of rows * column groups + column group. The products of one leg are the part of a thread
/// (device/launch.hpp), so that also small lattices fill a GPU.
template <class Layout, class Storage, class MatrixStorage, int rows, int columns>
class CoarseHopOfRows {
 public:
  using Rows = CoarseRows<Layout, Storage, MatrixStorage, rows, columns>;
  using Vectors = typename Rows::Vectors;
  using Matrices = typename Rows::Matrices;
  using Part = typename Rows::Products;
  static constexpr int parts = 8;
  /// Slots side by side share a matrix, or rows that lie in the same 16 bytes, and the vectors: the first
  /// cache of a multiprocessor has these then.
  static constexpr int slots_of_block = rows * columns == 1 ? 2 : sizeof(Storage) > 4 ? 4 : 6;

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
        rows_{2 * call.vectors},
        rhs_{call.rhs},
        groups_{column_groups(call.rhs)},
        hop_{Storage(call.hop)},
        legs_taken_{call.legs_taken},
        is_dagger_{call.is_dagger} {}

  static int slots(int vectors, int rhs) { return 2 * vectors / rows * column_groups(rhs); }

  /// Leaves the products of one leg. The forward legs come first, as threads side by side do the same then.
  TRELLIS_SITE_FN void part(int site, int slot, int part, Part& products) const {
    const int leg = part < 4 ? 2 * part : 2 * part - 7;
    if (!takes(leg)) return;
    const int row = slot / groups_ * rows, first = slot % groups_ * columns;
    const int32_t entry = neighbours_[size_t(site) * 8 + size_t(leg)],
                  link = back_links_[size_t(site) * 4 + size_t(leg / 2)];
    const bool is_forward = leg % 2 == 0;
    const Matrices& links = is_forward ? links_ : link & 1 ? link_ghosts_ : links_there_;
    const typename Rows::Factors factors{links,      is_forward ? site : link >> 1,
                                         leg / 2,    entry & 1 ? ghosts_ : in_,
                                         entry >> 1, first,
                                         rhs_ - 1,   has_signs(leg),
                                         rows_.n};
    is_forward ? rows_.times(factors, row, products) : rows_.dagger_times(factors, row, products);
  }

  /// Adds the legs in order: products(p) are those of part p.
  template <class Parts>
  TRELLIS_SITE_FN void finish(int site, int slot, const Parts& products) const {
    const int first_row = slot / groups_ * rows, first = slot % groups_ * columns;
    unroll<rows>([&](auto r) TRELLIS_INLINE_LAMBDA {
      unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
        const int row = first_row + r, column = first + c;
        if (column >= rhs_) return;
        Complex<Storage> sum = {0, 0};
        unroll<8>([&](auto leg) TRELLIS_INLINE_LAMBDA {
          if (!takes(leg)) return;
          const Complex<Storage> product = products(leg / 2 + 4 * (leg % 2)).of[r][c];
          sum = has_signs(leg) && row >= rows_.n / 2 ? sum - product : sum + product;
        });
        Storage &re = *out_.element(site, 0, column, 2 * row),
                &im = *out_.element(site, 0, column, 2 * row + 1);
        const Storage add_re = add_.is_null() ? 0 : *add_.element(site, 0, column, 2 * row),
                      add_im = add_.is_null() ? 0 : *add_.element(site, 0, column, 2 * row + 1);
        re = fma(hop_, sum.re, add_re);
        im = fma(hop_, sum.im, add_im);
      });
    });
  }

 private:
  static int column_groups(int rhs) { return (rhs + columns - 1) / columns; }
  TRELLIS_SITE_FN bool takes(int leg) const { return (legs_taken_ >> leg & 1) != 0; }
  TRELLIS_SITE_FN bool has_signs(int leg) const { return (leg % 2 == 0) == is_dagger_; }

  const int32_t *neighbours_, *back_links_;
  Vectors in_, ghosts_, add_, out_;
  Matrices links_, links_there_, link_ghosts_;
  Rows rows_;
  int rhs_, groups_;
  Storage hop_;
  unsigned legs_taken_;
  bool is_dagger_;
};

template <class Layout, class Storage, class MatrixStorage, int rows, int columns>
class CoarseMatrixOfRows {
 public:
  using Rows = CoarseRows<Layout, Storage, MatrixStorage, rows, columns>;
  using Vectors = typename Rows::Vectors;
  explicit CoarseMatrixOfRows(const CoarseMatrixCall& call)
      : matrix_{call.matrix, 8 * call.vectors * call.vectors},
        in_{call.in, 4 * call.vectors},
        add_{call.add, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        rows_{2 * call.vectors},
        rhs_{call.rhs},
        groups_{column_groups(call.rhs)},
        is_dagger_{call.is_dagger} {}

  static int slots(int vectors, int rhs) { return 2 * vectors / rows * column_groups(rhs); }

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int first_row = slot / groups_ * rows, first = slot % groups_ * columns;
    const typename Rows::Factors factors{matrix_, site, 0, in_, site, first, rhs_ - 1, false, rows_.n};
    typename Rows::Products products;
    is_dagger_ ? rows_.dagger_times(factors, first_row, products) : rows_.times(factors, first_row, products);
    unroll<rows>([&](auto r) TRELLIS_INLINE_LAMBDA {
      unroll<columns>([&](auto c) TRELLIS_INLINE_LAMBDA {
        const int row = first_row + r, column = first + c;
        if (column >= rhs_) return;
        Storage &re = *out_.element(site, 0, column, 2 * row),
                &im = *out_.element(site, 0, column, 2 * row + 1);
        const Storage add_re = add_.is_null() ? 0 : *add_.element(site, 0, column, 2 * row),
                      add_im = add_.is_null() ? 0 : *add_.element(site, 0, column, 2 * row + 1);
        re = add_re + products.of[r][c].re;
        im = add_im + products.of[r][c].im;
      });
    });
  }

 private:
  static int column_groups(int rhs) { return (rhs + columns - 1) / columns; }

  typename Rows::Matrices matrix_;
  Vectors in_, add_, out_;
  Rows rows_;
  int rhs_, groups_;
  bool is_dagger_;
};

template <class Layout, class Storage>
void launch_coarse_hop(const CoarseHopCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_coarse_matrix(const CoarseMatrixCall& call, const SiteRange& sites);

}  // namespace trellis
