#pragma once
/// Columns of P are rounded to 16-bit fixed point: each site has a power of two as its scale, so that what
/// was rounded once is not changed when it is rounded again.
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

struct RoundColumnsCall {
  RawField in, out;  ///< they have one parity, in single precision and in fixed point
};

template <class Layout>
class RoundColumns {
 public:
  using Real = LaneReal<float, Layout::lanes>;
  using Elements = SiteElements<Layout, Half>;

  explicit RoundColumns(const RoundColumnsCall& call) : in_{call.in}, out_{call.out, 24} {}

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    Real r[24];
    in_.load(block, slot, r);
    Real largest(0.0f);
    unroll<24>([&](auto i) TRELLIS_INLINE_LAMBDA { largest = larger_magnitude(largest, r[i]); });
    const Real scale = scale_above(largest), most = scale * Real(most_of_scale);
    unroll<24>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = clamped(r[i], most); });
    store_real(out_.scale(block, 0, slot), scale);
    const Real inverse = Real(site_full_scale(24)) / scale;
    unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
      store_integers(block, slot, 2 * k, nearest_integer(inverse * r[2 * k]),
                     nearest_integer(inverse * r[2 * k + 1]));
    });
  }

 private:
  /// The largest number is at most so many scales: a little more than 1, and less than what would make
  /// the next power of two the scale when it is rounded again.
  static constexpr float most_of_scale = 13373.0f / 13370.0f;

  template <class Integer>
  TRELLIS_SITE_FN void store_integers(int block, int slot, int component, const Integer& re,
                                      const Integer& im) const {
    int16_t* p = out_.element(block, 0, slot, component);
    if constexpr (Elements::is_gpu) {
      *p = int16_t(re);
      *out_.element(block, 0, slot, component + 1) = int16_t(im);
    } else {
      store_pair(p, pack_pair(re, im));
    }
  }
  static TRELLIS_SITE_FN Real clamped(const Real& x, const Real& most) {
    const Real zero(0.0f), above = maximum(x, zero - most);
    return zero - maximum(zero - above, zero - most);
  }

  /// Returns a power of two of about `largest`, up to twice that. The leading bit comes from the rounding
  /// errors of a product (S. M. Rump, T. Ogita, S. Oishi, SIAM J. Sci. Comput. 31 (2008) 189, algorithm 3.5).
  static TRELLIS_SITE_FN Real scale_above(const Real& largest) {
    const Real x = maximum(largest * Real(1.0f - 0x1p-12f), Real(1e-30f));
    const Real q = x * Real(0x1p23f + 1.0f);
    return Real(2.0f) * (q - q * Real(1.0f - 0x1p-24f));
  }

  SiteArray<Layout, float, 24> in_;
  Elements out_;
};

template <class Layout>
void launch_round_columns(const RoundColumnsCall& call, const SiteRange& blocks);

}  // namespace trellis
