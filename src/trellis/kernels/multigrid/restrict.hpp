#pragma once
/// Restriction and prolongation go between fine spinors and the coefficients of coarse sites. The columns of
/// P are the right-hand sides of one spinor field: its upper spins are those of chirality +, its lower ones
/// those of chirality -.
///
///   restriction: c(X, chirality, j) = sum_{x in X} P_j(x, chirality)^dagger r(x)
///   prolongation: x(x, chirality) = sum_j P_j(x, chirality) c(X, chirality, j)
///
/// Each takes 96 flop a site, column of P and right-hand side. P is read once, whatever the number of
/// right-hand sides, and on a CPU in the order in which it lies; it may be stored in 16-bit fixed point.
#include "trellis/kernels/multigrid/aggregate_call.hpp"

namespace trellis {

struct RestrictCall {
  AggregateTable aggregates;
  RawField in[2], prolongator[2];  ///< there is one for each parity
  bool has_half = false;           ///< P is in 16-bit fixed point
  void* out = nullptr;             ///< [group][rhs][chirality][vector][re, im][lane]
  int vectors = 0, rhs = 1;
};

/// Returns number k of column j of P as it is stored, without the scale of the site.
template <int k, class Columns>
TRELLIS_SITE_FN auto stored_number(const Columns& columns, int block, int j) {
  using Real = typename Columns::Real;
  if constexpr (Columns::is_half) {
    const typename Columns::Pair a = columns.template pair<k>(block, j);
    return Complex<Real>{integer_to_float(pair_re(a), static_cast<Real*>(nullptr)),
                         integer_to_float(pair_im(a), static_cast<Real*>(nullptr))};
  } else {
    const Real one(typename Columns::Scalar(1));
    return Complex<Real>{columns.template component<2 * k>(block, j, one),
                         columns.template component<2 * k + 1>(block, j, one)};
  }
}

/// It serves CPUs: a slot takes all columns of P, which lie behind each other. Storage is that of the fields,
/// ColumnStorage that of P.
template <class Layout, class Storage, class ColumnStorage>
class Restrict {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Columns = SiteArray<Layout, ColumnStorage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;

  explicit Restrict(const RestrictCall& call)
      : sites_{call.aggregates.sites},
        count_{call.aggregates.count},
        out_{static_cast<Scalar*>(call.out)},
        vectors_{call.vectors},
        rhs_{call.rhs} {
    for (int parity = 0; parity < 2; ++parity) {
      in_[parity] = Array(call.in[parity]);
      columns_[parity] = Columns(call.prolongator[parity]);
    }
  }

  TRELLIS_SITE_FN void operator()(int group) const {
    for (int site = 0; site < count_; ++site) {
      const int32_t entry = sites_[size_t(group) * size_t(count_) + size_t(site)];
      for (int j = 0; j < vectors_; ++j) add_site(group, entry >> 1, entry & 1, j, site == 0);
    }
  }

 private:
  /// Adds what column j has on one site.
  TRELLIS_SITE_FN void add_site(int group, int block, int parity, int j, bool is_first) const {
    const Array& in = in_[parity];
    Real p[24];
    columns_[parity].template load_stored<Access::constant>(block, j, p);
    const Real scale = convert_real<Scalar>(columns_[parity].load_unit(block, j));
    for (int r = 0; r < rhs_; ++r) {
      const Real unit = in.load_unit(block, r);
      Complex<Real> sum[chiralities];
      unroll<chiralities>([&](auto s) TRELLIS_INLINE_LAMBDA { sum[s] = {Real(Scalar(0)), Real(Scalar(0))}; });
      unroll<2 * half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Complex<Real> psi{in.template component<2 * k>(block, r, unit),
                                in.template component<2 * k + 1>(block, r, unit)};
        conj_mul_add(sum[k / half_components], Complex<Real>{p[2 * k], p[2 * k + 1]}, psi);
      });
      unroll<chiralities>([&](auto s)
                              TRELLIS_INLINE_LAMBDA { add_to(group, r, s, j, scale, sum[s], is_first); });
    }
  }
  TRELLIS_SITE_FN void add_to(int group, int r, int chirality, int j, const Real& scale,
                              const Complex<Real>& sum, bool is_first) const {
    const size_t number = (size_t(group) * size_t(rhs_) + size_t(r)) * size_t(chiralities * vectors_) +
                          size_t(chirality * vectors_ + j);
    Scalar* p = out_ + 2 * number * Layout::lanes;
    const Real before[2] = {is_first ? Real(Scalar(0)) : load_real<Real>(p),
                            is_first ? Real(Scalar(0)) : load_real<Real>(p + Layout::lanes)};
    store_real(p, fma(scale, sum.re, before[0]));
    store_real(p + Layout::lanes, fma(scale, sum.im, before[1]));
  }

  const int32_t* sites_;
  int count_;
  Array in_[2];
  Columns columns_[2];
  Scalar* out_;
  int vectors_, rhs_;
};

/// It serves GPUs: a block takes one aggregate, a few columns of P and a few right-hand sides. Its threads
/// have the sites, which lie side by side, and then one sum each, in the order of the sites; it has the bits
/// of Restrict.
template <class Layout, class Storage, class ColumnStorage, int columns_of_fine>
class RestrictOfColumns {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Columns = SiteArray<Layout, ColumnStorage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;
  using Sum = Scalar;
  /// A thread takes so many columns of P, which share what is read of the fine field.
  static constexpr int together = sizeof(Scalar) > 4 ? 2 : 4;
  static constexpr int sums_of_column = columns_of_fine * chiralities * 2;
  static constexpr int sums = together * sums_of_column;
  /// It is what one site has. Its words are odd in number, so that threads side by side write to different
  /// banks.
  struct Term {
    Scalar of[together][columns_of_fine][chiralities][2];
    Scalar scale[together], unused;
  };

  explicit RestrictOfColumns(const RestrictCall& call)
      : sites_{call.aggregates.sites},
        count_{call.aggregates.count},
        out_{static_cast<Scalar*>(call.out)},
        vectors_{call.vectors},
        rhs_{call.rhs},
        groups_{groups(call.rhs)} {
    for (int parity = 0; parity < 2; ++parity) {
      in_[parity] = Array(call.in[parity]);
      columns_[parity] = Columns(call.prolongator[parity]);
    }
  }

  static int groups(int rhs) { return (rhs + columns_of_fine - 1) / columns_of_fine; }
  /// The slot is group of columns of P * groups + group of right-hand sides.
  static int slots(int vectors, int rhs) { return (vectors + together - 1) / together * groups(rhs); }
  TRELLIS_SITE_FN int terms() const { return count_; }

  TRELLIS_SITE_FN void term(int aggregate, int slot, int site, Term& term) const {
    const int first = slot % groups_ * columns_of_fine, first_column = slot / groups_ * together;
    const int32_t entry = sites_[size_t(aggregate) * size_t(count_) + size_t(site)];
    const int block = entry >> 1;
    const Array& in = in_[entry & 1];
    const Columns& columns = columns_[entry & 1];
    unroll<together>([&](auto j) TRELLIS_INLINE_LAMBDA {
      term.scale[j] = convert_real<Scalar>(columns.load_unit(block, column_of(first_column + j)));
    });
    unroll<chiralities>([&](auto chirality) TRELLIS_INLINE_LAMBDA {
      constexpr int numbers = half_components * chirality;
      Complex<Real> p[together][half_components];
      unroll<together>([&](auto j) TRELLIS_INLINE_LAMBDA {
        unroll<half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
          p[j][k] = columns.template number<Access::constant>(block, column_of(first_column + j), numbers + k,
                                                              Real(1));
        });
      });
      unroll<columns_of_fine>([&](auto c) TRELLIS_INLINE_LAMBDA {
        const int r = rhs_of(first + c);
        const Real unit = in.load_unit(block, r);
        Complex<Real> psi[half_components];
        unroll<half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
          psi[k] = in.template number<Access::constant>(block, r, numbers + k, unit);
        });
        unroll<together>([&](auto j) TRELLIS_INLINE_LAMBDA {
          Complex<Real> of_site{Real(0), Real(0)};
          unroll<half_components>([&](auto k)
                                      TRELLIS_INLINE_LAMBDA { conj_mul_add(of_site, p[j][k], psi[k]); });
          term.of[j][c][chirality][0] = of_site.re;
          term.of[j][c][chirality][1] = of_site.im;
        });
      });
    });
  }
  TRELLIS_SITE_FN void add(Sum& sum, const Term& term, int which) const {
    sum = fma(term.scale[which / sums_of_column], (&term.of[0][0][0][0])[which], sum);
  }
  TRELLIS_SITE_FN void finish(int aggregate, int slot, int which, const Sum& sum) const {
    const int j = slot / groups_ * together + which / sums_of_column;
    const int r = slot % groups_ * columns_of_fine + which % sums_of_column / (2 * chiralities);
    if (r >= rhs_ || j >= vectors_) return;
    const int chirality = which / 2 % chiralities;
    const size_t of_rhs = size_t(aggregate) * size_t(rhs_) + size_t(r);
    out_[2 * (of_rhs * size_t(chiralities * vectors_) + size_t(chirality * vectors_ + j)) +
         size_t(which % 2)] = sum;
  }

 private:
  /// Right-hand sides and columns beyond the last are the last one.
  TRELLIS_SITE_FN int rhs_of(int r) const { return r < rhs_ ? r : rhs_ - 1; }
  TRELLIS_SITE_FN int column_of(int j) const { return j < vectors_ ? j : vectors_ - 1; }

  const int32_t* sites_;
  int count_;
  Array in_[2];
  Columns columns_[2];
  Scalar* out_;
  int vectors_, rhs_, groups_;
};

struct ProlongCall {
  const int32_t* group_of = nullptr;  ///< [block]
  RawField out, prolongator;          ///< both have one parity
  bool has_half = false;              ///< P is in 16-bit fixed point
  const void* in = nullptr;           ///< [group][rhs][chirality][vector][re, im][lane]
  int vectors = 0, rhs = 1;
};

/// A slot is a few right-hand sides, which share what is read of P.
template <class Layout, class Storage, class ColumnStorage, int columns_of_fine>
class Prolong {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Columns = SiteArray<Layout, ColumnStorage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;

  explicit Prolong(const ProlongCall& call)
      : group_of_{call.group_of},
        out_{call.out},
        columns_{call.prolongator},
        in_{static_cast<const Scalar*>(call.in)},
        vectors_{call.vectors},
        rhs_{call.rhs} {}

  static int slots(int rhs) { return (rhs + columns_of_fine - 1) / columns_of_fine; }

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    const int first = slot * columns_of_fine;
    Complex<Real> sum[columns_of_fine][2 * half_components];
    unroll<columns_of_fine>([&](auto c) TRELLIS_INLINE_LAMBDA {
      unroll<2 * half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
        sum[c][k] = {Real(Scalar(0)), Real(Scalar(0))};
      });
    });
    for (int j = 0; j < vectors_; ++j) add_column(block, j, first, sum);
    unroll<columns_of_fine>([&](auto c) TRELLIS_INLINE_LAMBDA {
      if (first + c < rhs_) out_.store(block, first + c, reinterpret_cast<const Real(&)[24]>(sum[c]));
    });
  }

 private:
  TRELLIS_SITE_FN void add_column(int block, int j, int first,
                                  Complex<Real> (&sum)[columns_of_fine][2 * half_components]) const {
    const Real scale = convert_real<Scalar>(columns_.load_unit(block, j));
    Complex<Real> c[columns_of_fine][chiralities];
    unroll<columns_of_fine>([&](auto i) TRELLIS_INLINE_LAMBDA {
      const int r = first + i < rhs_ ? first + i : rhs_ - 1;
      const size_t origin =
          (size_t(group_of_[block]) * size_t(rhs_) + size_t(r)) * size_t(chiralities * vectors_);
      unroll<chiralities>([&](auto s) TRELLIS_INLINE_LAMBDA {
        const Scalar* p = in_ + 2 * (origin + size_t(s * vectors_ + j)) * Layout::lanes;
        c[i][s] = {scale * load_real<Real>(p), scale * load_real<Real>(p + Layout::lanes)};
      });
    });
    unroll<2 * half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
      const Complex<Real> p = stored_number<k>(columns_, block, j);
      unroll<columns_of_fine>(
          [&](auto i) TRELLIS_INLINE_LAMBDA { mul_add(sum[i][k], p, c[i][k / half_components]); });
    });
  }

  const int32_t* group_of_;
  Array out_;
  Columns columns_;
  const Scalar* in_;
  int vectors_, rhs_;
};

template <class Layout, class Storage>
void launch_restrict(const RestrictCall& call, const SiteRange& groups);
template <class Layout, class Storage>
void launch_prolong(const ProlongCall& call, const SiteRange& blocks);

}  // namespace trellis
