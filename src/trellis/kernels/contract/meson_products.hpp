#pragma once
/// Every meson is built from the 256 colour-traced products of two propagators at a site:
///
///   Q[i][j][k][l] = sum_ab S(i a, j b) conj(S'(k a, l b)),   component 64 i + 16 j + 4 k + l;
///
/// i, k are sink spins, j, l source spins, a and b sink and source colours. A site takes 256 * 70 flop; two
/// propagators of 288 reals are read and 512 doubles written.
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

struct SiteRange;

inline constexpr int meson_components = 256;

struct MesonProductsCall {
  RawField quark, antiquark;  ///< they are propagators, of one parity
  ProductBuffer out;
  int first_block = 0;                  ///< it is block number 0 of the chunk
  const int32_t* components = nullptr;  ///< these are wanted, as components of `out`; null: all
  int count = meson_components;
};

template <class Layout, class Storage>
class MesonProducts {
 public:
  using Quark = PropagatorView<Layout, Storage>;
  using Real = typename Quark::Real;

  explicit MesonProducts(const MesonProductsCall& call)
      : quark_{call.quark}, antiquark_{call.antiquark}, out_{call.out}, first_{call.first_block} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int ij = 0; ij < 16; ++ij) products<1>(block, ij);
  }
  /// Forms component `component` alone, as component n of the buffer.
  TRELLIS_SITE_FN void product(int block, int component, int n) const {
    const ColorMatrix<Real> a = quark_.block(block, component / 64, component / 16 % 4);
    const ColorMatrix<Real> b = antiquark_.block(block, component / 4 % 4, component % 4);
    out_.template store<Layout>(n, block - first_, traced(a, b));
  }
  /// Forms the products with J elements (i, j) of the quark, which stay in registers.
  template <int J>
  TRELLIS_SITE_FN void products(int block, int first) const {
    ColorMatrix<Real> a[J];
    unroll<J>([&](auto j)
                  TRELLIS_INLINE_LAMBDA { a[j] = quark_.block(block, (first + j) / 4, (first + j) % 4); });
    for (int kl = 0; kl < 16; ++kl) {
      const ColorMatrix<Real> b = antiquark_.block(block, kl / 4, kl % 4);
      unroll<J>([&](auto j) TRELLIS_INLINE_LAMBDA {
        out_.template store<Layout>(16 * (first + j) + kl, block - first_, traced(a[j], b));
      });
    }
  }

 private:
  TRELLIS_SITE_FN static Complex<Real> traced(const ColorMatrix<Real>& a, const ColorMatrix<Real>& b) {
    Complex<Real> sum = conj_mul(b.e[0][0], a.e[0][0]);
    unroll<Nc * Nc - 1>([&](auto n) TRELLIS_INLINE_LAMBDA {
      conj_mul_add(sum, b.e[(n + 1) / Nc][(n + 1) % Nc], a.e[(n + 1) / Nc][(n + 1) % Nc]);
    });
    return sum;
  }

  Quark quark_, antiquark_;
  ProductBuffer out_;
  int first_;
};

/// It forms a part of a site's products, for devices, where a site has several threads: each reads the
/// antiquark once. The parts of some sites follow each other, so that they find the antiquark in a cache.
template <class Layout, class Storage>
struct PartOfMesonProducts {
  static constexpr int parts = 4;
  MesonProducts<Layout, Storage> all;
  int first_block, end_block;

  TRELLIS_SITE_FN void operator()(int thread) const {
    constexpr int elements = 16 / parts;
    const PartOfSite at = part_of_site<parts>(thread);
    if (first_block + at.site < end_block)
      all.template products<elements>(first_block + at.site, elements * at.part);
  }
};

/// It forms some components of a list, one after the other.
template <class Layout, class Storage>
struct ListedMesonProducts {
  MesonProducts<Layout, Storage> all;
  const int32_t* components;
  TRELLIS_SITE_FN void operator()(int block, int n) const { all.product(block, components[n], n); }
};

/// @pre blocks begin at call.first_block and are not a list
template <class Layout, class Storage>
void launch_meson_products(const MesonProductsCall& call, const SiteRange& blocks);

}  // namespace trellis
