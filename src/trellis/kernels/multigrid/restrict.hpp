#pragma once
/// Restriction and prolongation between fine spinors and the coefficients of coarse sites, with the columns
/// of P as the right-hand sides of one spinor field: its upper spins are those of chirality +, its lower ones
/// those of chirality -.
///
///   restriction: c(X, chirality, j) = sum_{x in X} P_j(x, chirality)^dagger r(x)
///   prolongation: x(x, chirality) = sum_j P_j(x, chirality) c(X, chirality, j)
///
/// Each takes 96 flop a site, column of P and right-hand side.
#include "trellis/kernels/multigrid/aggregate_call.hpp"

namespace trellis {

struct RestrictCall {
  AggregateTable aggregates;
  RawField in[2], prolongator[2];  ///< by parity
  void* out = nullptr;             ///< [group][rhs][chirality][vector][re, im][lane]
  int vectors = 0, rhs = 1;
};

template <class Layout, class Storage>
class Restrict {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;
  static constexpr int width = 4;  ///< columns of P at a time

  explicit Restrict(const RestrictCall& call)
      : sites_{call.aggregates.sites},
        count_{call.aggregates.count},
        out_{static_cast<Scalar*>(call.out)},
        vectors_{call.vectors},
        rhs_{call.rhs} {
    for (int parity = 0; parity < 2; ++parity) {
      in_[parity] = Array(call.in[parity]);
      prolongator_[parity] = Array(call.prolongator[parity]);
    }
  }

  static int slots(int vectors, int rhs) { return (vectors + width - 1) / width * rhs; }

  /// slot = piece of columns * rhs + right-hand side
  TRELLIS_SITE_FN void operator()(int group, int slot) const {
    const int first = slot / rhs_ * width, r = slot % rhs_;
    Complex<Real> sum[chiralities][width];
    unroll<chiralities * width>([&](auto i) TRELLIS_INLINE_LAMBDA {
      sum[i / width][i % width] = {Real(Scalar(0)), Real(Scalar(0))};
    });
    for (int site = 0; site < count_; ++site) {
      const int32_t entry = sites_[size_t(group) * size_t(count_) + size_t(site)];
      add_site(sum, entry >> 1, entry & 1, first, r);
    }
    for (int i = 0; i < width && first + i < vectors_; ++i)
      for (int chirality = 0; chirality < chiralities; ++chirality) {
        const size_t number = (size_t(group) * size_t(rhs_) + size_t(r)) * size_t(chiralities * vectors_) +
                              size_t(chirality * vectors_ + first + i);
        store_real(out_ + (2 * number) * Layout::lanes, sum[chirality][i].re);
        store_real(out_ + (2 * number + 1) * Layout::lanes, sum[chirality][i].im);
      }
  }

 private:
  TRELLIS_SITE_FN void add_site(Complex<Real> (&sum)[chiralities][width], int block, int parity, int first,
                                int r) const {
    const Array &in = in_[parity], &P = prolongator_[parity];
    const Real unit = in.load_unit(block, r);
    int column[width];
    Real units[width];
    for (int i = 0; i < width; ++i) {
      column[i] = first + i < vectors_ ? first + i : vectors_ - 1;
      units[i] = P.load_unit(block, column[i]);
    }
    unroll<2 * half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
      const Complex<Real> psi{in.component(block, r, 2 * k, unit), in.component(block, r, 2 * k + 1, unit)};
      unroll<width>([&](auto i) TRELLIS_INLINE_LAMBDA {
        const Complex<Real> p{P.component(block, column[i], 2 * k, units[i]),
                              P.component(block, column[i], 2 * k + 1, units[i])};
        conj_mul_add(sum[k / half_components][i], p, psi);
      });
    });
  }

  const int32_t* sites_;
  int count_;
  Array in_[2], prolongator_[2];
  Scalar* out_;
  int vectors_, rhs_;
};

struct ProlongCall {
  const int32_t* group_of = nullptr;  ///< [block]
  RawField out, prolongator;          ///< of one parity
  const void* in = nullptr;           ///< [group][rhs][chirality][vector][re, im][lane]
  int vectors = 0, rhs = 1;
};

template <class Layout, class Storage>
class Prolong {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;

  explicit Prolong(const ProlongCall& call)
      : group_of_{call.group_of},
        out_{call.out},
        prolongator_{call.prolongator},
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
      Complex<Real> c[chiralities];
      unroll<chiralities>([&](auto s) TRELLIS_INLINE_LAMBDA {
        const Scalar* p = in_ + 2 * (origin + size_t(s * vectors_ + j)) * Layout::lanes;
        c[s] = {load_real<Real>(p), load_real<Real>(p + Layout::lanes)};
      });
      const Real unit = prolongator_.load_unit(block, j);
      unroll<2 * half_components>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Complex<Real> p{prolongator_.component(block, j, 2 * k, unit),
                              prolongator_.component(block, j, 2 * k + 1, unit)};
        mul_add(sum[k], p, c[k / half_components]);
      });
    }
    out_.store(block, r, reinterpret_cast<const Real(&)[24]>(sum));
  }

 private:
  const int32_t* group_of_;
  Array out_, prolongator_;
  const Scalar* in_;
  int vectors_, rhs_;
};

template <class Layout, class Storage>
void launch_restrict(const RestrictCall& call, const SiteRange& groups);
template <class Layout, class Storage>
void launch_prolong(const ProlongCall& call, const SiteRange& blocks);

}  // namespace trellis
