#pragma once
/// The site-diagonal part of the Wilson-clover operator with a twisted mass is A + i mu gamma5; this file has
/// it and its inverse. A is hermitian and commutes with gamma5, so with B = (A^2 + mu^2)^-1 and C = A B,
/// hermitian too,
///
///   (A + i mu gamma5)^-1 = C - i mu gamma5 B.
#include "trellis/kernels/dirac/clover_term.hpp"
#include "trellis/kernels/dirac/wilson_hop.hpp"

namespace trellis {

/// The call is out = [sum +] P in + i twist gamma5 Q in; P and Q are hermitian blocks of 72 reals. Fields may
/// be the same.
struct TwistedCloverCall {
  RawField out, in, sum, P, Q;  ///< with null data there is no sum, and Q = 1
  double twist = 0;
  int slots = 1;
};

/// It counts 504 flop for each of P and Q, 72 for the sums.
template <class Layout, class Storage>
class TwistedClover {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Blocks = SiteArray<Layout, Storage, 72>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit TwistedClover(const TwistedCloverCall& call)
      : out_{call.out}, in_{call.in}, sum_{call.sum}, P_{call.P}, Q_{call.Q}, twist_{Scalar(call.twist)} {}

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    const Spinor<Real> in = in_.load(block, slot);
    Real blocks[72];
    P_.load(block, 0, blocks);
    Spinor<Real> result, turned = in;
    clover_multiply(result, blocks, in);
    if (!Q_.is_null()) {
      Q_.load(block, 0, blocks);
      clover_multiply(turned, blocks, in);
    }
    turned = chiral_multiply(Real(Scalar(0)), Real(twist_), turned);
    unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { result.s[s] = result.s[s] + turned.s[s]; });
    if (!sum_.is_null()) {
      const Spinor<Real> sum = sum_.load(block, slot);
      unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { result.s[s] = sum.s[s] + result.s[s]; });
    }
    out_.store(block, slot, result);
  }

 private:
  Spinors out_, in_, sum_;
  Blocks P_, Q_;
  Scalar twist_;
};

/// It makes B = (A^2 + mu^2)^-1 and C = A B from A of a site.
template <class Layout, class Storage>
class TwistedCloverInverse {
 public:
  using Array = SiteArray<Layout, Storage, 72>;
  using Real = typename Array::Real;
  TwistedCloverInverse(const RawField& B, const RawField& C, const RawField& A, double mu)
      : B_{B}, C_{C}, A_{A}, mu_{mu} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    Real a[72], b[72], c[72];
    A_.load(block, 0, a);
    for (int first = 0; first < 72; first += 36) {
      Real square[36];
      multiply_hermitian(square, a + first, a + first);
      for (int i = 0; i < 6; ++i) square[i] = square[i] + Real(mu_ * mu_);
      invert_hermitian_block(square);
      multiply_hermitian(c + first, square, a + first);
      for (int k = 0; k < 36; ++k) b[first + k] = square[k];
    }
    B_.store(block, 0, b);
    C_.store(block, 0, c);
  }

 private:
  TRELLIS_SITE_FN static Complex<Real> entry(const Real* a, int i, int j) {
    if (i == j) return {a[i], Real(0.0)};
    const int row = i > j ? i : j, column = i > j ? j : i, k = 6 + 2 * (row * (row - 1) / 2 + column);
    return i > j ? Complex<Real>{a[k], a[k + 1]} : Complex<Real>{a[k], -a[k + 1]};
  }
  /// Computes a b for commuting a and b, which is hermitian.
  TRELLIS_SITE_FN static void multiply_hermitian(Real* product, const Real* a, const Real* b) {
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j <= i; ++j) {
        Complex<Real> sum = {Real(0.0), Real(0.0)};
        for (int k = 0; k < 6; ++k) mul_add(sum, entry(a, i, k), entry(b, k, j));
        if (i == j) {
          product[i] = sum.re;
        } else {
          const int at = 6 + 2 * (i * (i - 1) / 2 + j);
          product[at] = sum.re;
          product[at + 1] = sum.im;
        }
      }
  }
  Array B_, C_, A_;
  double mu_;
};

template <class Layout, class Storage>
void launch_twisted_clover(const TwistedCloverCall& call, const SiteRange& sites);
/// It exists on the CPU in double only.
template <class Layout, class Storage>
void launch_twisted_clover_inverse(const RawField& B, const RawField& C, const RawField& A, double mu,
                                   const SiteRange& sites);

}  // namespace trellis
