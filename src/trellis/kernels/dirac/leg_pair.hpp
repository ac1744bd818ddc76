#pragma once
/// The two legs of a direction enter the sum together: the 24 sums of a site do not fit the registers beside
/// a leg's work, so that each entry costs a load and a store of all of them.
#include "trellis/algebra/spinor.hpp"

namespace trellis {

/// Adds to sum (or sets it for mu = 0, which comes first) the spinors whose projections (1 - sign gamma_mu)
/// and (1 + sign gamma_mu) have the upper components `ahead` and `behind`, in this order. The arguments are
/// plus = sign, minus = -sign. It rounds as add_reconstructed() of one after the other, and takes 48 flop.
template <int mu, class R>
TRELLIS_SITE_FN void add_reconstructed_pair(Spinor<R>& sum, const HalfSpinor<R>& ahead,
                                            const HalfSpinor<R>& behind, const R& plus, const R& minus) {
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
    unroll<2>([&](auto s) TRELLIS_INLINE_LAMBDA {
      // h.s[s] determines this lower spin component: it is h.s[s] times (+ or -) sign, with an i for x and z.
      constexpr int lower = (mu < 2) == (s == 0) ? 3 : 2;
      constexpr bool is_negative = mu == 0 || (mu == 1 && s == 0) || (mu == 2 && s == 0);
      const R &first = is_negative ? plus : minus, &second = is_negative ? minus : plus;
      const Complex<R>&a = ahead.s[s].c[c], &b = behind.s[s].c[c];
      Complex<R>&upper_sum = sum.s[s].c[c], &lower_sum = sum.s[lower].c[c];
      if constexpr (mu == 0) {
        upper_sum = a + b;
        lower_sum = add_signed_i(signed_i_copy(first, second, a), second, b);
      } else {
        upper_sum = (upper_sum + a) + b;
        if constexpr (mu % 2 == 0)  // these are x and z
          lower_sum = add_signed_i(add_signed_i(lower_sum, first, a), second, b);
        else
          lower_sum = add_signed(add_signed(lower_sum, first, a), second, b);
      }
    });
  });
}

}  // namespace trellis
