#pragma once
/// The updates of many shifts of a multi-shift solver take one pass, for one to four iterations at a time.
///
///   t = 1..T, every shift k:   x_k += a_kt p_k,   p_k = r_t + b_kt p_k
///
/// T iterations at a time read and write x_k and p_k once instead of T times. The traffic per shift is 4
/// fields, and T for all shifts together; a real takes 4 T flop.
#include "trellis/view/raw_stencil.hpp"

namespace trellis {

struct MultiShiftUpdateCall {
  static constexpr int largest_count = 4;
  RawField residuals[largest_count];          ///< they are r_1, r_2, ..
  int count = 1;                              ///< it is T
  const RawField *x = nullptr, *p = nullptr;  ///< they are [shift]
  int shifts = 0;
  const double *a = nullptr, *b = nullptr;  ///< they are [shift][t][slot], t below largest_count
  int reals = 6, slots = 1;
};

template <class Layout, class Storage, int N, int T>
struct MultiShiftUpdate {
  using Array = SiteArray<Layout, Storage, N>;
  using Real = typename Array::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  TRELLIS_SITE_FN static void update(const MultiShiftUpdateCall& call, int block, int slot) {
    Real r[T][N];
    unroll<T>([&](auto t) TRELLIS_INLINE_LAMBDA { Array(call.residuals[t]).load(block, slot, r[t]); });
    for (int k = 0; k < call.shifts; ++k) {
      const size_t first =
          (size_t(k) * MultiShiftUpdateCall::largest_count) * size_t(call.slots) + size_t(slot);
      Scalar a[T], b[T];
      for (int t = 0; t < T; ++t) {
        a[t] = Scalar(call.a[first + size_t(t) * size_t(call.slots)]);
        b[t] = Scalar(call.b[first + size_t(t) * size_t(call.slots)]);
      }
      update_shift(Array(call.x[k]), Array(call.p[k]), r, a, b, block, slot);
    }
  }

  TRELLIS_SITE_FN static void update_shift(const Array& x, const Array& p, const Real (&r)[T][N],
                                           const Scalar (&a)[T], const Scalar (&b)[T], int block, int slot) {
    Real u[N], v[N];
    x.load(block, slot, u);
    p.load(block, slot, v);
    unroll<T>([&](auto t) TRELLIS_INLINE_LAMBDA {
      const Real at(a[t]), bt(b[t]);
      unroll<N>([&](auto i) TRELLIS_INLINE_LAMBDA {
        u[i] = fma(at, v[i], u[i]);
        v[i] = fma(bt, v[i], r[t][i]);
      });
    });
    x.store(block, slot, u);
    p.store(block, slot, v);
  }
};

/// It updates a few shifts of one right-hand side, for devices: fields and coefficients travel by value.
template <class Layout, class Storage, int N, int T>
class MultiShiftAtSite {
 public:
  using Update = MultiShiftUpdate<Layout, Storage, N, T>;
  static constexpr int largest_batch = 16;
  /// Takes shifts first_shift .. of iterations first_time .. first_time + T - 1. @pre call.x and so on lie on
  /// the host
  MultiShiftAtSite(const MultiShiftUpdateCall& call, int first_shift, int first_time, int slot)
      : slot_{slot} {
    for (int t = 0; t < T; ++t) residuals_[t] = typename Update::Array(call.residuals[first_time + t]);
    for (int k = first_shift; k < call.shifts && count_ < largest_batch; ++k, ++count_) {
      x_[count_] = typename Update::Array(call.x[k]);
      p_[count_] = typename Update::Array(call.p[k]);
      for (int t = 0; t < T; ++t) {
        const size_t at =
            (size_t(k) * MultiShiftUpdateCall::largest_count + size_t(first_time + t)) * size_t(call.slots) +
            size_t(slot);
        a_[count_][t] = typename Update::Scalar(call.a[at]);
        b_[count_][t] = typename Update::Scalar(call.b[at]);
      }
    }
  }
  TRELLIS_SITE_FN void operator()(int site) const {
    typename Update::Real r[T][N];
    unroll<T>([&](auto t) TRELLIS_INLINE_LAMBDA { residuals_[t].load(site, slot_, r[t]); });
    for (int k = 0; k < count_; ++k) Update::update_shift(x_[k], p_[k], r, a_[k], b_[k], site, slot_);
  }

 private:
  typename Update::Array residuals_[T], x_[largest_batch], p_[largest_batch];
  typename Update::Scalar a_[largest_batch][T] = {}, b_[largest_batch][T] = {};
  int count_ = 0, slot_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_multi_shift_update(const MultiShiftUpdateCall& call, const SiteRange& sites);

}  // namespace trellis
