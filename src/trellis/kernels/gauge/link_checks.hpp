#pragma once
/// The kernel finds how far links are from a group, and how long their rows and columns are; storage in fewer
/// reals or in 16 bits asks for this. It takes about 300 flop a link.
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"
#include "trellis/view/link_reals.hpp"

namespace trellis {

enum class LinkCheck {
  su3,    ///< it checks |(U U^dagger - 1)_ij| and |third row - conj(first x second)|
  u3,     ///< it checks |(U U^dagger - 1)_ij|: the phase of the determinant is free
  length  ///< it measures rows and columns
};

/// It finds the largest square of these numbers of a site's links (NaN if one is not finite).
template <class Layout, class Storage>
class LinkChecks {
 public:
  using Links = ObjectView<Layout, Storage, ColorMatrix, 18>;
  using Real = typename Links::Real;
  LinkChecks(const RawField& links, LinkCheck check) : links_{links}, check_{check} {}

  TRELLIS_SITE_FN Real operator()(int block) const {
    Real largest(0.0), finite_check(0.0);
    for (int mu = 0; mu < 4; ++mu) {
      const ColorMatrix<Real> U = links_.load(block, mu);
      const Real length2 = largest_length2(U);
      finite_check = finite_check + (length2 - length2);  // NaN stays
      if (check_ == LinkCheck::length) {
        largest = maximum(largest, length2);
      } else {
        ColorMatrix<Real> difference = mul_dagger(U, U);
        for (int i = 0; i < Nc; ++i) difference.e[i][i].re = difference.e[i][i].re - Real(1.0);
        add_largest(largest, difference);
      }
      if (check_ == LinkCheck::su3) {
        ColorMatrix<Real> rebuilt = U;
        rebuild_third_row(rebuilt);
        add_largest(largest, U - rebuilt);
      }
    }
    return largest + finite_check;
  }

 private:
  TRELLIS_SITE_FN static void add_largest(Real& largest, const ColorMatrix<Real>& M) {
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j) largest = maximum(largest, norm2(M.e[i][j]));
  }
  Links links_;
  LinkCheck check_;
};

/// Returns the largest of the inner blocks, or infinity if a link is not finite.
template <class Layout, class Storage>
double launch_link_checks(const RawField& links, LinkCheck check, const SiteRange& inner_blocks);

}  // namespace trellis
