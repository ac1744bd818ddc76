#pragma once
/// Restriction and prolongation between fine spinors and the coefficients of coarse sites, with the columns
/// of P as the right-hand sides of one spinor field: its upper spins are those of chirality +, its lower ones
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
  RawField in[2], prolongator[2];  ///< by parity
  bool has_half = false;           ///< P is in 16-bit fixed point
  void* out = nullptr;             ///< [group][rhs][chirality][vector][re, im][lane]
  int vectors = 0, rhs = 1;
};

/// Storage: of the fields; ColumnStorage: of P.
template <class Layout, class Storage, class ColumnStorage>
class Restrict {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Columns = SiteArray<Layout, ColumnStorage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;
  /// Columns of P in a slot: on a CPU all of them, which lie behind each other.
  static constexpr int width = std::is_base_of_v<GpuLayout, Layout> ? 4 : 1 << 20;

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

  static int slots(int vectors) { return width < vectors ? (vectors + width - 1) / width : 1; }

  TRELLIS_SITE_FN void operator()(int group, int slot) const {
    const int first = slot * width, last = first + (width < vectors_ - first ? width : vectors_ - first);
    for (int site = 0; site < count_; ++site) {
      const int32_t entry = sites_[size_t(group) * size_t(count_) + size_t(site)];
      for (int j = first; j < last; ++j) add_site(group, entry >> 1, entry & 1, j, site == 0);
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

struct ProlongCall {
  const int32_t* group_of = nullptr;  ///< [block]
  RawField out, prolongator;          ///< of one parity
  bool has_half = false;              ///< P is in 16-bit fixed point
  const void* in = nullptr;           ///< [group][rhs][chirality][vector][re, im][lane]
  int vectors = 0, rhs = 1;
};

template <class Layout, class Storage, class ColumnStorage>
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

  TRELLIS_SITE_FN void operator()(int block, int r) const {
    const size_t origin =
        (size_t(group_of_[block]) * size_t(rhs_) + size_t(r)) * size_t(chiralities * vectors_);
    Complex<Real> sum[2 * half_components];
    unroll<2 * half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
      sum[k] = {Real(Scalar(0)), Real(Scalar(0))};
    });
    for (int j = 0; j < vectors_; ++j) {
      const Real scale = convert_real<Scalar>(columns_.load_unit(block, j));
      Complex<Real> c[chiralities];
      unroll<chiralities>([&](auto s) TRELLIS_INLINE_LAMBDA {
        const Scalar* p = in_ + 2 * (origin + size_t(s * vectors_ + j)) * Layout::lanes;
        c[s] = {scale * load_real<Real>(p), scale * load_real<Real>(p + Layout::lanes)};
      });
      unroll<2 * half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
        mul_add(sum[k], stored_number<k>(block, j), c[k / half_components]);
      });
    }
    out_.store(block, r, reinterpret_cast<const Real(&)[24]>(sum));
  }

 private:
  /// Complex number k of column j, without the scale of the site.
  template <int k>
  TRELLIS_SITE_FN Complex<Real> stored_number(int block, int j) const {
    if constexpr (Columns::is_half) {
      const typename Columns::Pair a = columns_.template pair<k>(block, j);
      return {integer_to_float(pair_re(a), static_cast<Real*>(nullptr)),
              integer_to_float(pair_im(a), static_cast<Real*>(nullptr))};
    } else {
      const Real one(Scalar(1));
      return {columns_.template component<2 * k>(block, j, one),
              columns_.template component<2 * k + 1>(block, j, one)};
    }
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
