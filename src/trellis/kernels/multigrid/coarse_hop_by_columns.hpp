#pragma once
/// The coarse operator takes on CPUs several rows of a matrix in a register, and several right-hand sides for
/// a matrix while it is in the first cache.
#include <cstring>

#include "trellis/kernels/multigrid/coarse_hop.hpp"

namespace trellis {

template <class Scalar>
class CoarseColumns {
 public:
  static constexpr int width = 16;       ///< a vector has so many reals
  static constexpr int rhs_at_once = 8;  ///< so many right-hand sides share a matrix
  static constexpr int rows_at_once = 8;
  using Vector = LaneReal<Scalar, width>;
  /// It is false on processors of narrower vectors, where a Vector is two halves.
  static constexpr bool fits_a_register = sizeof(Vector) == 64 && requires(Vector x) { x.v; };

  explicit CoarseColumns(int rows) : rows_{rows}, reals_{2 * rows}, whole_{2 * rows / width * width} {}

  int reals() const { return reals_; }

  /// Adds M x to y, or - M x in the rows of the lower chirality; M is `unit` times what is stored.
  template <class Element>
  void add_product(Scalar* y, const Element* matrix, Scalar unit, const Scalar* x,
                   bool is_lower_negative) const {
    int first = 0;
    for (; first + 6 * width <= whole_; first += 6 * width)
      add_rows<6>(y, matrix, unit, x, first, is_lower_negative);
    for (; first + 5 * width <= whole_; first += 5 * width)
      add_rows<5>(y, matrix, unit, x, first, is_lower_negative);
    for (; first + 2 * width <= whole_; first += 2 * width)
      add_rows<2>(y, matrix, unit, x, first, is_lower_negative);
    for (; first + width <= whole_; first += width) add_rows<1>(y, matrix, unit, x, first, is_lower_negative);
    for (; first < reals_; first += 2) add_row(y, matrix, unit, x, first, is_lower_negative);
  }

  /// Adds M^dagger x to y; turned has (im, -re) for the (re, im) of x. Both end with zeros up to a multiple
  /// of `width`.
  template <class Element>
  void add_dagger_product(Scalar* y, const Element* matrix, Scalar unit, const Scalar* x,
                          const Scalar* turned, bool is_lower_negative) const {
    int row = 0;
    for (; row + rows_at_once <= rows_; row += rows_at_once) {
      alignas(64) Scalar sums[2 * rows_at_once];
      dagger_rows<rows_at_once>(sums, matrix, x, turned, row);
      for (int i = 0; i < 2 * rows_at_once; i += 2)
        add_to(y, 2 * row + i, unit * sums[i], unit * sums[i + 1], is_lower_negative);
    }
    for (; row < rows_; ++row) {
      alignas(64) Scalar sums[2];
      dagger_rows<1>(sums, matrix, x, turned, row);
      add_to(y, 2 * row, unit * sums[0], unit * sums[1], is_lower_negative);
    }
  }

  /// Copies x with signs of the lower chirality, and turned where that is wanted.
  void prepare(Scalar* signed_x, Scalar* turned, const Scalar* x, bool has_signs) const {
    for (int i = 0; i < reals_; ++i) signed_x[i] = x[i];
    if (has_signs)
      for (int i = reals_ / 2; i < reals_; ++i) signed_x[i] = -x[i];
    if (turned == nullptr) return;
    for (int i = 0; i < reals_; i += 2) {
      turned[i] = signed_x[i + 1];
      turned[i + 1] = -signed_x[i];
    }
    for (int i = reals_; i < (reals_ + width - 1) / width * width; ++i) signed_x[i] = turned[i] = 0;
  }

 private:
  template <int count, class Element>
  [[gnu::always_inline]] void add_rows(Scalar* y, const Element* matrix, Scalar unit, const Scalar* x,
                                       int first, bool is_lower_negative) const {
    Vector a[count], b[count];
    for (int i = 0; i < count; ++i) a[i] = b[i] = Vector(Scalar(0));
    for (int k = 0; k < rows_; ++k) {
      const Vector re(x[2 * k]), im(x[2 * k + 1]);
      const Element* column = matrix + size_t(k) * size_t(reals_) + first;
#pragma GCC unroll 8
      for (int i = 0; i < count; ++i) {
        const Vector m = load(column + i * width);
        a[i] = fma(m, re, a[i]);
        b[i] = fma(m, im, b[i]);
      }
    }
    alignas(64) Scalar with_re[count * width], with_im[count * width];
    for (int i = 0; i < count; ++i) {
      a[i].store(with_re + i * width);
      b[i].store(with_im + i * width);
    }
    for (int i = 0; i < count * width; i += 2)
      add_to(y, first + i, unit * (with_re[i] - with_im[i + 1]), unit * (with_re[i + 1] + with_im[i]),
             is_lower_negative);
  }
  template <class Element>
  void add_row(Scalar* y, const Element* matrix, Scalar unit, const Scalar* x, int first,
               bool is_lower_negative) const {
    Scalar a = 0, b = 0, c = 0, d = 0;
    for (int k = 0; k < rows_; ++k) {
      const Element* m = matrix + size_t(k) * size_t(reals_) + first;
      const Scalar re = Scalar(m[0]), im = Scalar(m[1]);
      a = fma(re, x[2 * k], a);
      b = fma(im, x[2 * k], b);
      c = fma(re, x[2 * k + 1], c);
      d = fma(im, x[2 * k + 1], d);
    }
    add_to(y, first, unit * (a - d), unit * (b + c), is_lower_negative);
  }
  void add_to(Scalar* y, int at, Scalar re, Scalar im, bool is_lower_negative) const {
    const bool is_negative = is_lower_negative && at >= reals_ / 2;
    y[at] = is_negative ? y[at] - re : y[at] + re;
    y[at + 1] = is_negative ? y[at + 1] - im : y[at + 1] + im;
  }

  /// Forms sums = [column][re, im] of M^dagger x for some columns of M.
  template <int count, class Element>
  [[gnu::always_inline]] void dagger_rows(Scalar* sums, const Element* matrix, const Scalar* x,
                                          const Scalar* turned, int row) const {
    Vector part[2 * count];
    for (int i = 0; i < 2 * count; ++i) part[i] = Vector(Scalar(0));
    const Element* columns = matrix + size_t(row) * size_t(reals_);
    for (int i = 0; i < whole_; i += width) {
      const Vector re = load(x + i), im = load(turned + i);
#pragma GCC unroll 8
      for (int k = 0; k < count; ++k) {
        const Vector m = load(columns + size_t(k) * size_t(reals_) + i);
        part[2 * k] = fma(m, re, part[2 * k]);
        part[2 * k + 1] = fma(m, im, part[2 * k + 1]);
      }
    }
    if (whole_ < reals_) {
      const Vector re = load(x + whole_), im = load(turned + whole_);
      for (int k = 0; k < count; ++k) {
        alignas(64) Element rest[width] = {};
        for (int i = whole_; i < reals_; ++i)
          rest[i - whole_] = columns[size_t(k) * size_t(reals_) + size_t(i)];
        const Vector m = load(rest);
        part[2 * k] = fma(m, re, part[2 * k]);
        part[2 * k + 1] = fma(m, im, part[2 * k + 1]);
      }
    }
    if constexpr (2 * count == partial_sums && fits_a_register) {
      sum_all(part).store(sums);
    } else {
      for (int i = 0; i < 2 * count; ++i) {
        alignas(64) Scalar one[partial_sums];
        part[i].store(one);
        sums[i] = sum_in_halves(one);
      }
    }
  }

  /// Loads from any address: columns of odd numbers of vectors have no alignment.
  static Vector load(const Scalar* p) {
    Vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static Vector load(const int16_t* p) {
    if constexpr (fits_a_register) {
      typedef int16_t Packed __attribute__((vector_size(width * sizeof(int16_t))));
      Packed packed;
      std::memcpy(&packed, p, sizeof packed);
      return Vector(__builtin_convertvector(packed, decltype(Vector::v)));
    } else {
      alignas(64) Scalar wide[width];
      for (int i = 0; i < width; ++i) wide[i] = Scalar(p[i]);
      return Vector::load(wide);
    }
  }

  /// Forms the sums of sixteen vectors by sum_in_halves(), side by side. @pre a vector fits a register
  [[gnu::always_inline]] static Vector sum_all(const Vector (&part)[partial_sums]) {
    using V = decltype(part[0].v);
    V eighths[8], fourths[4], halves[2];
    for (int i = 0; i < 8; ++i) {
      const V a = part[2 * i].v, b = part[2 * i + 1].v;
      eighths[i] =
          __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
          __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    }
    for (int i = 0; i < 4; ++i) {
      const V a = eighths[2 * i], b = eighths[2 * i + 1];
      fourths[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                   __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    }
    for (int i = 0; i < 2; ++i) {
      const V a = fourths[2 * i], b = fourths[2 * i + 1];
      halves[i] = __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
                  __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
    }
    return Vector(__builtin_shufflevector(halves[0], halves[1], 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24,
                                          26, 28, 30) +
                  __builtin_shufflevector(halves[0], halves[1], 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25,
                                          27, 29, 31));
  }

  int rows_, reals_, whole_;
};

template <class Layout, class Storage, class MatrixStorage>
class CoarseHopByColumns {
 public:
  using Vectors = SiteElements<Layout, Storage>;
  using Matrices = SiteElements<Layout, MatrixStorage>;
  explicit CoarseHopByColumns(const CoarseHopCall& call)
      : call_{call},
        in_{call.in, 4 * call.vectors},
        ghosts_{call.ghosts, 4 * call.vectors},
        add_{call.add, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        links_{call.links, 8 * call.vectors * call.vectors},
        links_there_{call.links_there, 8 * call.vectors * call.vectors},
        link_ghosts_{call.link_ghosts, 8 * call.vectors * call.vectors},
        columns_{2 * call.vectors} {}

  void operator()(int site) const {
    for (int r = 0; r < call_.rhs; r += Columns::rhs_at_once)
      compute(site, r, call_.rhs - r < Columns::rhs_at_once ? call_.rhs - r : Columns::rhs_at_once);
  }

 private:
  using Columns = CoarseColumns<Storage>;
  void compute(int site, int first, int count) const {
    alignas(64) Storage sum[Columns::rhs_at_once][most_coarse_reals], x[most_coarse_reals],
        turned[most_coarse_reals];
    const int reals = columns_.reals();
    for (int r = 0; r < count; ++r)
      for (int i = 0; i < reals; ++i) sum[r][i] = 0;
    for (int leg = 0; leg < 8; ++leg) {
      if ((call_.legs_taken >> leg & 1) == 0) continue;
      const int32_t entry = call_.neighbours[size_t(site) * 8 + size_t(leg)];
      const Vectors& in = entry & 1 ? ghosts_ : in_;
      const int place = entry >> 1;
      const bool is_forward = leg % 2 == 0, has_signs = is_forward == call_.is_dagger;
      const int32_t link = call_.back_links[size_t(site) * 4 + size_t(leg / 2)];
      const Matrices& links = is_forward ? links_ : link & 1 ? link_ghosts_ : links_there_;
      const int at = is_forward ? site : link >> 1;
      const auto* matrix = links.element(at, 0, leg / 2, 0);
      const Storage unit = Storage(links.unit(at, leg / 2));
      for (int r = 0; r < count; ++r) {
        columns_.prepare(x, is_forward ? nullptr : turned, in.element(place, 0, first + r, 0), has_signs);
        if (is_forward)
          columns_.add_product(sum[r], matrix, unit, x, has_signs);
        else
          columns_.add_dagger_product(sum[r], matrix, unit, x, turned, has_signs);
      }
    }
    const Storage hop = Storage(call_.hop);
    for (int r = 0; r < count; ++r) {
      Storage* out = out_.element(site, 0, first + r, 0);
      const Storage* add = add_.is_null() ? nullptr : add_.element(site, 0, first + r, 0);
      for (int i = 0; i < reals; ++i) out[i] = fma(hop, sum[r][i], add ? add[i] : Storage(0));
    }
  }

  CoarseHopCall call_;
  Vectors in_, ghosts_, add_, out_;
  Matrices links_, links_there_, link_ghosts_;
  Columns columns_;
};

template <class Layout, class Storage, class MatrixStorage>
class CoarseMatrixByColumns {
 public:
  using Vectors = SiteElements<Layout, Storage>;
  explicit CoarseMatrixByColumns(const CoarseMatrixCall& call)
      : matrix_{call.matrix, 8 * call.vectors * call.vectors},
        in_{call.in, 4 * call.vectors},
        add_{call.add, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        columns_{2 * call.vectors},
        rhs_{call.rhs},
        is_dagger_{call.is_dagger} {}

  void operator()(int site) const {
    alignas(64) Storage sum[most_coarse_reals], x[most_coarse_reals], turned[most_coarse_reals];
    const auto* matrix = matrix_.element(site, 0, 0, 0);
    const Storage unit = Storage(matrix_.unit(site, 0));
    const int reals = columns_.reals();
    for (int r = 0; r < rhs_; ++r) {
      for (int i = 0; i < reals; ++i) sum[i] = 0;
      columns_.prepare(x, is_dagger_ ? turned : nullptr, in_.element(site, 0, r, 0), false);
      if (is_dagger_)
        columns_.add_dagger_product(sum, matrix, unit, x, turned, false);
      else
        columns_.add_product(sum, matrix, unit, x, false);
      Storage* out = out_.element(site, 0, r, 0);
      const Storage* add = add_.is_null() ? nullptr : add_.element(site, 0, r, 0);
      for (int i = 0; i < reals; ++i) out[i] = (add ? add[i] : Storage(0)) + sum[i];
    }
  }

 private:
  SiteElements<Layout, MatrixStorage> matrix_;
  Vectors in_, add_, out_;
  CoarseColumns<Storage> columns_;
  int rhs_;
  bool is_dagger_;
};

}  // namespace trellis
