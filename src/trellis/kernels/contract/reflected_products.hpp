#pragma once
/// The conserved currents of domain-wall fermions are contracted with these products at a site:
///
///   sum over right-hand sides and slices s of left_{Ls-1-s}^dagger gamma5 right_s
///
/// They take 192 flop a slot and site; both fields are read.
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

struct SiteRange;

struct ReflectedProductsCall {
  RawField left, right;  ///< they are in double, of one parity
  int rhs = 1, slices = 1;
  ProductBuffer out;    ///< it has one component; without data the sum is used
  RawField sum;         ///< it has two reals a site, to which the product is added
  int first_block = 0;  ///< it is block number 0 of the chunk
};

template <class Layout, class Storage>
class ReflectedProducts {
 public:
  using Spinors = SiteArray<Layout, Storage, 24>;
  using Real = typename Spinors::Real;

  explicit ReflectedProducts(const ReflectedProductsCall& call)
      : left_{call.left}, right_{call.right}, sum_{call.sum}, call_{call} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    Complex<Real> sum{Real(0.0), Real(0.0)};
    for (int rhs = 0; rhs < call_.rhs; ++rhs)
      for (int s = 0; s < call_.slices; ++s) add(sum, block, rhs * call_.slices, s);
    if (call_.out.data != nullptr) return call_.out.template store<Layout>(0, block - call_.first_block, sum);
    Real old[2];
    sum_.load(block, 0, old);
    sum_.store(block, 0, {old[0] + sum.re, old[1] + sum.im});
  }

 private:
  TRELLIS_SITE_FN void add(Complex<Real>& sum, int block, int first, int s) const {
    Real l[24], r[24];
    left_.load(block, first + call_.slices - 1 - s, l);
    right_.load(block, first + s, r);
    unroll<12>([&](auto k) TRELLIS_INLINE_LAMBDA {
      const Complex<Real> a{l[2 * k], l[2 * k + 1]}, b{r[2 * k], r[2 * k + 1]};
      conj_mul_add(sum, a, k < 6 ? b : Complex<Real>{-b.re, -b.im});
    });
  }

  Spinors left_, right_;
  SiteArray<Layout, Storage, 2> sum_;
  ReflectedProductsCall call_;
};

/// It takes the numbers of a field of two reals a site as products of one component.
template <class Layout, class Storage>
struct SiteNumbers {
  SiteArray<Layout, Storage, 2> field;
  ProductBuffer out;
  int first_block;  ///< it is block number 0 of the chunk

  TRELLIS_SITE_FN void operator()(int block) const {
    typename SiteArray<Layout, Storage, 2>::Real z[2];
    field.load(block, 0, z);
    out.template store<Layout>(0, block - first_block,
                               Complex<typename SiteArray<Layout, Storage, 2>::Real>{z[0], z[1]});
  }
};

/// @pre blocks begin at first_block and are not a list
template <class Layout, class Storage>
void launch_site_numbers(const RawField& field, const ProductBuffer& out, const SiteRange& blocks);
/// @pre with products, blocks begin at call.first_block and are not a list
template <class Layout, class Storage>
void launch_reflected_products(const ReflectedProductsCall& call, const SiteRange& blocks);

}  // namespace trellis
