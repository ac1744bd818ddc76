#pragma once
/// The updates of many shifts of a multi-shift solver in one pass, for one to four iterations at a time.
///
///   t = 1..T, every shift k:   x_k += a_kt p_k,   p_k = r_t + b_kt p_k
///
/// T iterations at a time read and write x_k and p_k once instead of T times. Traffic per shift: 4 fields,
/// and T for all shifts together; 4 T flop per real.
#include "trellis/view/raw_stencil.hpp"

namespace trellis {

struct MultiShiftUpdateCall {
  static constexpr int largest_count = 4;
  RawField residuals[largest_count];          ///< r_1, r_2, ..
  int count = 1;                              ///< T
  const RawField *x = nullptr, *p = nullptr;  ///< [shift]
  int shifts = 0;
  const double *a = nullptr, *b = nullptr;  ///< [shift][t][slot], t below largest_count
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
      const Array x(call.x[k]), p(call.p[k]);
      const size_t first =
          (size_t(k) * MultiShiftUpdateCall::largest_count) * size_t(call.slots) + size_t(slot);
      Real u[N], v[N];
      x.load(block, slot, u);
      p.load(block, slot, v);
      unroll<T>([&](auto t) TRELLIS_INLINE_LAMBDA {
        const Real a(Scalar(call.a[first + size_t(t) * size_t(call.slots)])),
            b(Scalar(call.b[first + size_t(t) * size_t(call.slots)]));
        unroll<N>([&](auto i) TRELLIS_INLINE_LAMBDA {
          u[i] = fma(a, v[i], u[i]);
          v[i] = fma(b, v[i], r[t][i]);
        });
      });
      x.store(block, slot, u);
      p.store(block, slot, v);
    }
  }
};

struct SiteRange;
template <class Layout, class Storage>
void launch_multi_shift_update(const MultiShiftUpdateCall& call, const SiteRange& sites);

}  // namespace trellis
