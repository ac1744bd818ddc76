#pragma once
/// This file has products of fields of columns over aggregates, and columns mixed aggregate by aggregate. The
/// prolongator is made orthonormal with them, and they make the coarse operator.
///
///   products: out(X)_ab = sum_{x in X} left_a(x)^dagger right_b(x),   a, b = (chirality, vector)
///
/// The columns of chirality - may be those of (1 - gamma_mu) psi: its upper spins are h_s = phase_s
/// psi_{spin_s} for a psi with lower spins only, and (1 - gamma_mu)^2 = 2 (1 - gamma_mu), so that
///   psi^dagger (1 - gamma_mu) phi = h(psi)^dagger h(phi).
#include "trellis/kernels/multigrid/aggregate_call.hpp"

namespace trellis {

struct AggregateProductsCall {
  AggregateTable aggregates;
  const int32_t* subset = nullptr;  ///< these sites of an aggregate are summed over
  int subset_count = 0;
  bool is_first = true;        ///< else products are added to what `out` has
  RawField left[2], right[2];  ///< there is one for each parity
  int vectors = 0;
  bool is_chiral = true;  ///< these are products of equal chiralities only; the others are left alone
  bool is_hermitian =
      false;             ///< left is right: rows below the diagonal are left alone, but for some beside it
  int spin[2] = {2, 3};  ///< they belong to h, where chiralities differ
  double phase_re[2] = {1, 1}, phase_im[2] = {0, 0};  ///< they belong to h: 1, -1, i or -i
  bool is_in_double = true;  ///< sums, products and out are doubles; else they are numbers of the fields
  void* out =
      nullptr;  ///< [group][chirality, vector of right][chirality, vector of left][re, im][lane]: by columns
};

/// So many sites are summed at a time, before the next product is: all columns of that many sites stay in a
/// core's own cache. The order of the sums hangs on it, so it is the same for all layouts.
inline constexpr int sites_of_products = 16;

/// Term is the type of the numbers that are multiplied and summed.
template <class Layout, class Storage, class Term>
class AggregateProducts {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = LaneReal<Term, Layout::lanes>;
  /// So many rows and columns of products are formed at a time: as many as registers hold the sums of.
  static constexpr int width = sizeof(Real) > 64 ? 2 : 3;

  explicit AggregateProducts(const AggregateProductsCall& call)
      : sites_{call.aggregates.sites},
        subset_{call.subset},
        count_{call.aggregates.count},
        subset_count_{call.subset_count},
        vectors_{call.vectors},
        tiles_{(call.vectors + width - 1) / width},
        is_first_{call.is_first},
        is_chiral_{call.is_chiral},
        is_hermitian_{call.is_hermitian},
        out_{static_cast<Term*>(call.out)} {
    for (int i = 0; i < 2; ++i) {
      left_[i] = Array(call.left[i]);
      right_[i] = Array(call.right[i]);
      spin_[i] = call.spin[i];
      phase_[i] = {Term(call.phase_re[i]), Term(call.phase_im[i])};
    }
  }

  static int slots(int vectors, bool is_chiral) {
    const int tiles = (vectors + width - 1) / width;
    return tiles * tiles * (is_chiral ? 2 : 4);
  }

  /// The slot is (chiralities * tiles + tile of rows) * tiles + tile of columns.
  TRELLIS_SITE_FN void operator()(int group, int slot) const {
    const int pair = slot / (tiles_ * tiles_);
    const int row_chirality = is_chiral_ ? pair : pair / 2, column_chirality = is_chiral_ ? pair : pair % 2;
    const int rows = slot / tiles_ % tiles_ * width, columns = slot % tiles_ * width;
    if (is_hermitian_ && rows > columns) return;
    Sums sum;
    start(sum, group, row_chirality, rows, column_chirality, columns);
    if (row_chirality == column_chirality) {
      add_sites<half_components>(sum, group, rows, half_components * row_chirality, columns,
                                 half_components * row_chirality);
    } else {
      // Terms of spin s have the factor phase_s, or its conjugate: multiplications by it are exact.
      for (int s = 0; s < 2; ++s) {
        const Complex<Term> phase = phase_[s];
        const Term sign = column_chirality == 1 ? Term(1) : Term(-1);
        turn(sum, {phase.re, -sign * phase.im});
        add_sites<half_components / 2>(sum, group, rows, 3 * (row_chirality == 1 ? spin_[s] : s), columns,
                                       3 * (column_chirality == 1 ? spin_[s] : s));
        turn(sum, {phase.re, sign * phase.im});
      }
    }
    finish(sum, group, row_chirality, rows, column_chirality, columns);
  }

 private:
  using Sums = Complex<Real>[width * width];

  /// Adds the products of `numbers` components, from these on.
  template <int numbers>
  TRELLIS_SITE_FN void add_sites(Sums& sum, int group, int rows, int row_component, int columns,
                                 int column_component) const {
    for (int s = 0; s < subset_count_; ++s) {
      const int32_t entry = sites_[size_t(group) * size_t(count_) + size_t(subset_[s])];
      const Array &left = left_[entry & 1], &right = right_[entry & 1];
      for (int k = 0; k < numbers; ++k) {
        Complex<Real> a[width], b[width];
        unroll<width>([&](auto i) TRELLIS_INLINE_LAMBDA {
          a[i] = load(left, entry >> 1, rows + i, row_component + k);
          b[i] = load(right, entry >> 1, columns + i, column_component + k);
        });
        unroll<width * width>(
            [&](auto i) TRELLIS_INLINE_LAMBDA { conj_mul_add(sum[i], a[i / width], b[i % width]); });
      }
    }
  }
  TRELLIS_SITE_FN Complex<Real> load(const Array& field, int block, int column, int component) const {
    if (column >= vectors_) column = vectors_ - 1;
    const typename Array::Real unit = field.load_unit(block, column);
    const auto z = field.template number<Access::constant>(block, column, component, unit);
    return {convert_real<Term>(z.re), convert_real<Term>(z.im)};
  }
  static TRELLIS_SITE_FN void turn(Sums& sum, const Complex<Term>& phase) {
    const Complex<Real> factor{Real(phase.re), Real(phase.im)};
    unroll<width * width>([&](auto i) TRELLIS_INLINE_LAMBDA { sum[i] = factor * sum[i]; });
  }

  TRELLIS_SITE_FN Term* place(int group, int row_chirality, int row, int column_chirality, int column) const {
    const size_t n = size_t(2 * vectors_), r = size_t(row_chirality * vectors_ + row),
                 c = size_t(column_chirality * vectors_ + column);
    return out_ + 2 * ((size_t(group) * n + c) * n + r) * Layout::lanes;
  }
  TRELLIS_SITE_FN void start(Sums& sum, int group, int row_chirality, int rows, int column_chirality,
                             int columns) const {
    unroll<width * width>([&](auto i) TRELLIS_INLINE_LAMBDA {
      const int row = rows + i / width, column = columns + i % width;
      sum[i] = {Real(Term(0)), Real(Term(0))};
      if (!is_first_ && row < vectors_ && column < vectors_) {
        const Term* p = place(group, row_chirality, row, column_chirality, column);
        sum[i] = {load_real<Real>(p), load_real<Real>(p + Layout::lanes)};
      }
    });
  }
  TRELLIS_SITE_FN void finish(const Sums& sum, int group, int row_chirality, int rows, int column_chirality,
                              int columns) const {
    unroll<width * width>([&](auto i) TRELLIS_INLINE_LAMBDA {
      const int row = rows + i / width, column = columns + i % width;
      if (row < vectors_ && column < vectors_) {
        Term* p = place(group, row_chirality, row, column_chirality, column);
        store_real(p, sum[i].re);
        store_real(p + Layout::lanes, sum[i].im);
      }
    });
  }

  const int32_t *sites_, *subset_;
  int count_, subset_count_, vectors_, tiles_;
  bool is_first_, is_chiral_, is_hermitian_;
  Array left_[2], right_[2];
  int spin_[2];
  Complex<Term> phase_[2];
  Term* out_;
};

struct MixColumnsCall {
  const int32_t* group_of = nullptr;  ///< [block]
  RawField field;                     ///< it has one parity; columns are right-hand sides
  int vectors = 0;
  /// It has [group][chirality][j][i][re, im][lane]: new column j = sum_{i <= j} old column i times this.
  const void* matrix = nullptr;
};

inline constexpr int most_vectors = 96;

/// It works in place. It takes about 48 flop a site, column and column before it.
template <class Layout, class Storage>
class MixColumns {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;

  explicit MixColumns(const MixColumnsCall& call)
      : group_of_{call.group_of},
        field_{call.field},
        vectors_{call.vectors},
        matrix_{static_cast<const Scalar*>(call.matrix)} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const size_t n = size_t(vectors_);
    for (int k = 0; k < 2 * half_components; ++k) {
      Complex<Real> old[most_vectors];
      for (int j = 0; j < vectors_; ++j) old[j] = field_.number(block, j, k, Real(Scalar(1)));
      const Scalar* matrix =
          matrix_ + 2 * (size_t(group_of_[block]) * 2 + size_t(k / half_components)) * n * n * Layout::lanes;
      for (int j = 0; j < vectors_; ++j) {
        Real sum[2] = {Real(Scalar(0)), Real(Scalar(0))};
        for (int i = 0; i <= j; ++i) {
          const Scalar* p = matrix + 2 * (size_t(j) * n + size_t(i)) * Layout::lanes;
          const Complex<Real> factor{load_real<Real>(p), load_real<Real>(p + Layout::lanes)};
          sum[0] = fnma(factor.im, old[i].im, fma(factor.re, old[i].re, sum[0]));
          sum[1] = fma(factor.im, old[i].re, fma(factor.re, old[i].im, sum[1]));
        }
        field_.store_part(block, j, 2 * k, sum);
      }
    }
  }

 private:
  const int32_t* group_of_;
  Array field_;
  int vectors_;
  const Scalar* matrix_;
};

template <class Layout, class Storage>
void launch_aggregate_products(const AggregateProductsCall& call, const SiteRange& groups);
template <class Layout, class Storage>
void launch_mix_columns(const MixColumnsCall& call, const SiteRange& blocks);

}  // namespace trellis
