#pragma once
/// The log det of the hermitian positive 6x6 blocks of the clover term (kernels/dirac/clover_term.hpp) is the
/// sum of the logarithms of the pivots of A = L D L^dagger. It takes about 1300 flop a site.
#include <array>

#include "trellis/algebra/complex.hpp"
#include "trellis/algebra/lane_math.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

/// Returns log det of a block from its 36 reals: NaN or -infinity where a pivot is not positive.
template <class R>
TRELLIS_SITE_FN R log_determinant_of_block(const R* a) {
  Complex<R> L[6][6];
  R d[6], sum(0.0);
  for (int j = 0; j < 6; ++j) {
    d[j] = a[j];
    for (int k = 0; k < j; ++k) d[j] = fnma(norm2(L[j][k]), d[k], d[j]);
    const R inverse = R(1.0) / d[j];
    for (int i = j + 1; i < 6; ++i) {
      const int at = 6 + 2 * (i * (i - 1) / 2 + j);
      Complex<R> entry = {a[at], a[at + 1]};
      for (int k = 0; k < j; ++k) {
        const Complex<R> t = conj_mul(L[j][k], L[i][k]);
        entry = {fnma(t.re, d[k], entry.re), fnma(t.im, d[k], entry.im)};
      }
      L[i][j] = inverse * entry;
    }
    sum = sum + logarithm(d[j]);
  }
  return sum;
}

/// It forms the term of a site.
template <class Layout, class Storage>
class CloverDeterminant {
 public:
  using Array = SiteArray<Layout, Storage, 72>;
  using Real = typename Array::Real;
  explicit CloverDeterminant(const RawField& clover) : clover_{clover} {}
  TRELLIS_SITE_FN std::array<Real, 1> operator()(int block) const {
    Real r[72];
    clover_.load(block, 0, r);
    return {log_determinant_of_block(r) + log_determinant_of_block(r + 36)};
  }

 private:
  Array clover_;
};

struct SiteRange;
struct ExactSum;
/// Adds log det A over the sites to sum.
template <class Layout, class Storage>
void launch_clover_determinant(const RawField& clover, const SiteRange& sites, ExactSum* sum);

}  // namespace trellis
