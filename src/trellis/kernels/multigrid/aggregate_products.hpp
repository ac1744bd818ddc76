#pragma once
/// Products of fields of columns over aggregates, and columns mixed aggregate by aggregate: what the
/// prolongator is made orthonormal with, and what makes the coarse operator.
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
  const int32_t* subset = nullptr;  ///< the sites of an aggregate that are summed over
  int subset_count = 0;
  RawField left[2], right[2];  ///< by parity
  int vectors = 0;
  bool is_chiral = true;  ///< products of equal chiralities only; the others are left alone
  int spin[2] = {2, 3};   ///< of h, where chiralities differ
  double phase_re[2] = {1, 1}, phase_im[2] = {0, 0};
  bool is_in_double = true;  ///< sums, products and out are doubles; else they are numbers of the fields
  void* out =
      nullptr;  ///< [group][chirality, vector of right][chirality, vector of left][re, im][lane]: by columns
};

/// Term: the numbers that are multiplied and summed.
template <class Layout, class Storage, class Term>
class AggregateProducts {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = LaneReal<Term, Layout::lanes>;
  static constexpr int width = 3;  ///< rows and columns of products at a time

  explicit AggregateProducts(const AggregateProductsCall& call)
      : sites_{call.aggregates.sites},
        subset_{call.subset},
        count_{call.aggregates.count},
        subset_count_{call.subset_count},
        vectors_{call.vectors},
        tiles_{(call.vectors + width - 1) / width},
        is_chiral_{call.is_chiral},
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

  /// slot = (chiralities * tiles + tile of rows) * tiles + tile of columns
  TRELLIS_SITE_FN void operator()(int group, int slot) const {
    const int pair = slot / (tiles_ * tiles_);
    const int row_chirality = is_chiral_ ? pair : pair / 2, column_chirality = is_chiral_ ? pair : pair % 2;
    const int rows = slot / tiles_ % tiles_ * width, columns = slot % tiles_ * width;
    Complex<Real> sum[width * width];
    unroll<width * width>([&](auto i) TRELLIS_INLINE_LAMBDA { sum[i] = {Real(Term(0)), Real(Term(0))}; });
    for (int s = 0; s < subset_count_; ++s) {
      const int32_t entry = sites_[size_t(group) * size_t(count_) + size_t(subset_[s])];
      const Side left{left_[entry & 1], entry >> 1, rows, row_chirality, row_chirality != column_chirality};
      const Side right{right_[entry & 1], entry >> 1, columns, column_chirality,
                       row_chirality != column_chirality};
      for (int k = 0; k < half_components; ++k) {
        Complex<Real> a[width], b[width];
        unroll<width>([&](auto i) TRELLIS_INLINE_LAMBDA {
          a[i] = load(left, i, k);
          b[i] = load(right, i, k);
        });
        unroll<width * width>(
            [&](auto i) TRELLIS_INLINE_LAMBDA { conj_mul_add(sum[i], a[i / width], b[i % width]); });
      }
    }
    for (int i = 0; i < width; ++i)
      for (int j = 0; j < width; ++j) {
        if (rows + i >= vectors_ || columns + j >= vectors_) continue;
        const size_t row = size_t(row_chirality * vectors_ + rows + i),
                     column = size_t(column_chirality * vectors_ + columns + j), n = size_t(2 * vectors_);
        Term* p = out_ + 2 * ((size_t(group) * n + column) * n + row) * Layout::lanes;
        store_real(p, sum[width * i + j].re);
        store_real(p + Layout::lanes, sum[width * i + j].im);
      }
  }

 private:
  struct Side {
    const Array& field;
    int block, first, chirality;
    bool is_projected;
  };
  /// Component k of column `i` of a side.
  TRELLIS_SITE_FN Complex<Real> load(const Side& side, int i, int k) const {
    const int column = side.first + i < vectors_ ? side.first + i : vectors_ - 1;
    const bool is_turned = side.is_projected && side.chirality == 1;
    const int component = is_turned ? 3 * spin_[k / 3] + k % 3 : half_components * side.chirality + k;
    const typename Array::Real unit = side.field.load_unit(side.block, column);
    const Complex<Real> z{
        convert_real<Term>(side.field.component(side.block, column, 2 * component, unit)),
        convert_real<Term>(side.field.component(side.block, column, 2 * component + 1, unit))};
    if (!is_turned) return z;
    const Complex<Term> phase = phase_[k / 3];
    return Complex<Real>{Real(phase.re), Real(phase.im)} * z;
  }

  const int32_t *sites_, *subset_;
  int count_, subset_count_, vectors_, tiles_;
  bool is_chiral_;
  Array left_[2], right_[2];
  int spin_[2];
  Complex<Term> phase_[2];
  Term* out_;
};

struct MixColumnsCall {
  const int32_t* group_of = nullptr;  ///< [block]
  RawField field;                     ///< of one parity; columns are right-hand sides
  int vectors = 0;
  /// [group][chirality][j][i][re, im][lane]: new column j = sum_{i <= j} old column i times this
  const void* matrix = nullptr;
};

inline constexpr int most_vectors = 96;

/// In place. About 48 flop a site, column and column before it.
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
      for (int j = 0; j < vectors_; ++j)
        old[j] = {field_.component(block, j, 2 * k, Real(Scalar(1))),
                  field_.component(block, j, 2 * k + 1, Real(Scalar(1)))};
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
