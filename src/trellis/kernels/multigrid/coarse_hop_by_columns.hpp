#pragma once
/// The coarse operator on CPUs: several rows of a matrix in a register, and several right-hand sides for a
/// matrix while it is in the first cache.
#include <cstring>

#include "trellis/kernels/multigrid/coarse_hop.hpp"

namespace trellis {

template <class Scalar>
class CoarseColumns {
 public:
  static constexpr int width = 16;       ///< reals of a vector
  static constexpr int rhs_at_once = 8;  ///< right-hand sides that share a matrix
  using Vector = LaneReal<Scalar, width>;

  explicit CoarseColumns(int rows) : rows_{rows}, reals_{2 * rows}, whole_{2 * rows / width * width} {}

  int reals() const { return reals_; }

  /// y += M x, or - M x in the rows of the lower chirality.
  void add_product(Scalar* y, const Scalar* matrix, const Scalar* x, bool is_lower_negative) const {
    int first = 0;
    for (; first + 6 * width <= whole_; first += 6 * width)
      add_rows<6>(y, matrix, x, first, is_lower_negative);
    for (; first + 3 * width <= whole_; first += 3 * width)
      add_rows<3>(y, matrix, x, first, is_lower_negative);
    for (; first + width <= whole_; first += width) add_rows<1>(y, matrix, x, first, is_lower_negative);
    for (; first < reals_; first += 2) add_row(y, matrix, x, first, is_lower_negative);
  }

  /// y += M^dagger x; turned has (im, -re) for the (re, im) of x. Both end with zeros up to a multiple of
  /// `width`.
  void add_dagger_product(Scalar* y, const Scalar* matrix, const Scalar* x, const Scalar* turned,
                          bool is_lower_negative) const {
    for (int row = 0; row < rows_; ++row) {
      const Scalar* column = matrix + size_t(row) * size_t(reals_);
      Vector re(Scalar(0)), im(Scalar(0));
      for (int i = 0; i < whole_; i += width) {
        const Vector m = load(column + i);
        re = fma(m, load(x + i), re);
        im = fma(m, load(turned + i), im);
      }
      if (whole_ < reals_) {
        alignas(64) Scalar rest[width] = {};
        for (int i = whole_; i < reals_; ++i) rest[i - whole_] = column[i];
        const Vector m = load(rest);
        re = fma(m, load(x + whole_), re);
        im = fma(m, load(turned + whole_), im);
      }
      const Scalar sum_re = sum(re), sum_im = sum(im);
      const bool is_negative = is_lower_negative && row >= rows_ / 2;
      y[2 * row] = is_negative ? y[2 * row] - sum_re : y[2 * row] + sum_re;
      y[2 * row + 1] = is_negative ? y[2 * row + 1] - sum_im : y[2 * row + 1] + sum_im;
    }
  }

  /// x with signs of the lower chirality, and turned.
  void prepare(Scalar* signed_x, Scalar* turned, const Scalar* x, bool has_signs) const {
    for (int i = 0; i < reals_; ++i) signed_x[i] = has_signs && i >= reals_ / 2 ? -x[i] : x[i];
    for (int i = 0; i < reals_; i += 2) {
      turned[i] = signed_x[i + 1];
      turned[i + 1] = -signed_x[i];
    }
    for (int i = reals_; i < (reals_ + width - 1) / width * width; ++i) signed_x[i] = turned[i] = 0;
  }

 private:
  template <int count>
  [[gnu::always_inline]] void add_rows(Scalar* y, const Scalar* matrix, const Scalar* x, int first,
                                       bool is_lower_negative) const {
    Vector a[count], b[count];
    for (int i = 0; i < count; ++i) a[i] = b[i] = Vector(Scalar(0));
    for (int k = 0; k < rows_; ++k) {
      const Vector re(x[2 * k]), im(x[2 * k + 1]);
      const Scalar* column = matrix + size_t(k) * size_t(reals_) + first;
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
      add_to(y, first + i, with_re[i] - with_im[i + 1], with_re[i + 1] + with_im[i], is_lower_negative);
  }
  void add_row(Scalar* y, const Scalar* matrix, const Scalar* x, int first, bool is_lower_negative) const {
    Scalar a = 0, b = 0, c = 0, d = 0;
    for (int k = 0; k < rows_; ++k) {
      const Scalar* m = matrix + size_t(k) * size_t(reals_) + first;
      a = fma(m[0], x[2 * k], a);
      b = fma(m[1], x[2 * k], b);
      c = fma(m[0], x[2 * k + 1], c);
      d = fma(m[1], x[2 * k + 1], d);
    }
    add_to(y, first, a - d, b + c, is_lower_negative);
  }
  void add_to(Scalar* y, int at, Scalar re, Scalar im, bool is_lower_negative) const {
    const bool is_negative = is_lower_negative && at >= reals_ / 2;
    y[at] = is_negative ? y[at] - re : y[at] + re;
    y[at + 1] = is_negative ? y[at + 1] - im : y[at + 1] + im;
  }
  /// From any address: columns of odd numbers of vectors have no alignment.
  static Vector load(const Scalar* p) {
    Vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static Scalar sum(const Vector& v) {
    alignas(64) Scalar part[partial_sums];
    v.store(part);
    return sum_in_halves(part);
  }

  int rows_, reals_, whole_;
};

template <class Layout, class Storage>
class CoarseHopByColumns {
 public:
  using Vectors = SiteElements<Layout, Storage>;
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
      const int32_t entry = call_.neighbours[size_t(site) * 8 + size_t(leg)];
      const Vectors& in = entry & 1 ? ghosts_ : in_;
      const int place = entry >> 1;
      const bool is_forward = leg % 2 == 0, has_signs = is_forward == call_.is_dagger;
      const int32_t link = call_.back_links[size_t(site) * 4 + size_t(leg / 2)];
      const Storage* matrix =
          is_forward ? links_.element(site, 0, leg / 2, 0)
                     : (link & 1 ? link_ghosts_ : links_there_).element(link >> 1, 0, leg / 2, 0);
      for (int r = 0; r < count; ++r) {
        columns_.prepare(x, turned, in.element(place, 0, first + r, 0), has_signs);
        if (is_forward)
          columns_.add_product(sum[r], matrix, x, has_signs);
        else
          columns_.add_dagger_product(sum[r], matrix, x, turned, has_signs);
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
  Vectors in_, ghosts_, add_, out_, links_, links_there_, link_ghosts_;
  Columns columns_;
};

template <class Layout, class Storage>
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
    const Storage* matrix = matrix_.element(site, 0, 0, 0);
    const int reals = columns_.reals();
    for (int r = 0; r < rhs_; ++r) {
      for (int i = 0; i < reals; ++i) sum[i] = 0;
      columns_.prepare(x, turned, in_.element(site, 0, r, 0), false);
      if (is_dagger_)
        columns_.add_dagger_product(sum, matrix, x, turned, false);
      else
        columns_.add_product(sum, matrix, x, false);
      Storage* out = out_.element(site, 0, r, 0);
      const Storage* add = add_.is_null() ? nullptr : add_.element(site, 0, r, 0);
      for (int i = 0; i < reals; ++i) out[i] = (add ? add[i] : Storage(0)) + sum[i];
    }
  }

 private:
  Vectors matrix_, in_, add_, out_;
  CoarseColumns<Storage> columns_;
  int rhs_;
  bool is_dagger_;
};

}  // namespace trellis
