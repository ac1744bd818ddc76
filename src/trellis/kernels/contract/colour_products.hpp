#pragma once
/// All local mesons are built from the colour-traced product of two staggered propagators at a site:
///
///   Q = tr[ S S'^dagger ] = sum_ab S(a, b) conj(S'(a, b))
///
/// a is the sink colour and b, the column, the source colour. A site takes 70 flop; two propagators of 18
/// reals are read and 2 doubles written.
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

struct SiteRange;

struct ColourProductsCall {
  RawField quark, antiquark;  ///< they have three colour vectors a site, of one parity
  ProductBuffer out;
  int first_block = 0;  ///< it is block number 0 of the chunk
};

template <class Layout, class Storage>
class ColourProducts {
 public:
  using Vectors = ColorVectorView<Layout, Storage>;
  using Real = typename Vectors::Real;

  explicit ColourProducts(const ColourProductsCall& call)
      : quark_{call.quark}, antiquark_{call.antiquark}, out_{call.out}, first_{call.first_block} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    Complex<Real> sum{Real(0), Real(0)};
    for (int column = 0; column < Nc; ++column) {
      const ColorVector<Real> s = quark_.load(block, column), a = antiquark_.load(block, column);
      unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA { conj_mul_add(sum, a.c[c], s.c[c]); });
    }
    out_.template store<Layout>(0, block - first_, sum);
  }

 private:
  Vectors quark_, antiquark_;
  ProductBuffer out_;
  int first_;
};

/// @pre fields in double; blocks begin at call.first_block and are not a list
template <class Layout, class Storage>
void launch_colour_products(const ColourProductsCall& call, const SiteRange& blocks);

}  // namespace trellis
