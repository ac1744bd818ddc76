#pragma once
/// The kernel computes out = A in with A local to a site: a chiral scalar a + i b gamma5, or the 6x6 blocks
/// of a clover term.
#include "trellis/kernels/dirac/wilson_hop.hpp"

namespace trellis {

struct SiteDiagonalCall {
  RawField out, in, clover;
  SiteTerm term = SiteTerm::chiral_scalar;
  double scalar[2] = {1, 0};
  int slots = 1;
};

template <class Layout, class Storage>
class SiteDiagonal {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit SiteDiagonal(const SiteDiagonalCall& call)
      : out_{call.out},
        in_{call.in},
        clover_{call.clover},
        term_{call.term},
        re_{Scalar(call.scalar[0])},
        im_{Scalar(call.scalar[1])} {}

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    if (term_ == SiteTerm::clover) {
      Real blocks[72];
      clover_.load(block, 0, blocks);
      Spinor<Real> r;
      clover_multiply(r, blocks, in_.load(block, slot));
      out_.store(block, slot, r);
    } else {
      out_.store(block, slot, chiral_multiply(Real(re_), Real(im_), in_.load(block, slot)));
    }
  }

 private:
  Spinors out_, in_;
  SiteArray<Layout, Storage, 72> clover_;
  SiteTerm term_;
  Scalar re_, im_;
};

template <class Layout, class Storage>
void launch_site_diagonal(const SiteDiagonalCall& call, const SiteRange& sites);

}  // namespace trellis
