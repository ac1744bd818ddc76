#pragma once
/// This file has colour-contracted products of three propagators at a site. With
///
///   T(s0 s0', s1 s1', s2 s2') = eps_abc eps_a'b'c' S0(s0 a, s0' a') S1(s1 b, s1' b') S2(s2 c, s2' c')
///   D(A, B)_cc' = eps_abc eps_a'b'c' A_aa' B_bb'
///
/// T is the trace of D(S0, S1) with S2^T. Exchanging two quarks with their spins leaves T as it is, so every
/// Wick contraction enters with the sign +.
#include "trellis/kernels/contract/site_products.hpp"
#include "trellis/kernels/contract/sparse_spin_matrix.hpp"

namespace trellis {

struct SiteRange;

/// Adds: sum += D(A, B), with 36 complex multiply-adds.
template <class R>
TRELLIS_SITE_FN void add_diquark(ColorMatrix<R>& sum, const ColorMatrix<R>& A, const ColorMatrix<R>& B) {
  const ColorMatrix<R> minus = R(-1.0) * B;
  unroll<Nc * Nc>([&](auto n) TRELLIS_INLINE_LAMBDA {
    constexpr int c = n / Nc, d = n % Nc;
    constexpr int a = (c + 1) % Nc, b = (c + 2) % Nc, p = (d + 1) % Nc, q = (d + 2) % Nc;
    mul_add(sum.e[c][d], A.e[a][p], B.e[b][q]);
    mul_add(sum.e[c][d], A.e[a][q], minus.e[b][p]);
    mul_add(sum.e[c][d], A.e[b][p], minus.e[a][q]);
    mul_add(sum.e[c][d], A.e[b][q], B.e[a][p]);
  });
}
/// Adds: sum += sum_cc' A_cc' B_cc'.
template <class R>
TRELLIS_SITE_FN void add_element_products(Complex<R>& sum, const ColorMatrix<R>& A, const ColorMatrix<R>& B) {
  unroll<Nc * Nc>([&](auto n)
                      TRELLIS_INLINE_LAMBDA { mul_add(sum, A.e[n / Nc][n % Nc], B.e[n / Nc][n % Nc]); });
}
template <class R>
TRELLIS_SITE_FN Complex<R> zero_complex() {
  return {R(0.0), R(0.0)};
}

/// M(g, d) = sum G(s0, s1) Gbar(s0', s1') T(s_i, s'_{pairing[i]}), s2 = g, s2' = d: the operator eps (q0^T G
/// q1) q2_g at the sink, sink quark i contracted with quark pairing[i] of the source. It is component 4 g +
/// d. A diquark D takes 288 flop, its product with a quark's element 72, its factor 54. Per site there are 16
/// of each where quark 2 goes to quark 2, else 64; 3 * 288 reals are read, 32 doubles written.
struct OctetProductsCall {
  RawField quarks[3];
  SparseSpinMatrix sink, source;  ///< G, Gbar
  int pairing[3] = {0, 1, 2};
  ProductBuffer out;
  int first_block = 0;
};

inline constexpr int octet_components = 16;

template <class Layout, class Storage>
class OctetProducts {
 public:
  using Quark = PropagatorView<Layout, Storage>;
  using Real = typename Quark::Real;

  explicit OctetProducts(const OctetProductsCall& call)
      : quarks_{Quark(call.quarks[0]), Quark(call.quarks[1]), Quark(call.quarks[2])}, call_{call} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    if (call_.pairing[2] == 2)
      direct(block);
    else
      for (int d = 0; d < 4; ++d) crossed(block, d);
  }

  /// Forms the products with the spin d of the source where another quark than quark 2 goes to quark 2.
  TRELLIS_SITE_FN void crossed(int block, int d) const { crossed(block, call_.pairing[0] == 2 ? 0 : 1, d); }

 private:
  /// Sums over the diquark's spins first, then with S2(g, d).
  TRELLIS_SITE_FN void direct(int block) const {
    ColorMatrix<Real> diquark = zero_matrix<Real>();
    for (int row = 0; row < 4; ++row)
      for (int source_row = 0; source_row < 4; ++source_row) {
        const int source[2] = {source_row, call_.source.column[source_row]};
        add_diquark(diquark, weight(row, source_row) * quarks_[0].block(block, row, source[call_.pairing[0]]),
                    quarks_[1].block(block, call_.sink.column[row], source[call_.pairing[1]]));
      }
    for (int g = 0; g < 4; ++g)
      for (int d = 0; d < 4; ++d) {
        Complex<Real> sum = zero_complex<Real>();
        add_element_products(sum, diquark, quarks_[2].block(block, g, d));
        call_.out.template store<Layout>(4 * g + d, block - call_.first_block, sum);
      }
  }

  /// Diquark quark i (0 or 1) goes to the free quark of the source, and the sink's free quark to a diquark
  /// quark.
  TRELLIS_SITE_FN void crossed(int block, int i, int d) const {
    const int k = 1 - i;
    Complex<Real> sum[4];
    for (int g = 0; g < 4; ++g) sum[g] = zero_complex<Real>();
    for (int source_row = 0; source_row < 4; ++source_row) {
      const int source[2] = {source_row, call_.source.column[source_row]};
      ColorMatrix<Real> diquark = zero_matrix<Real>();
      for (int row = 0; row < 4; ++row) {
        const int sink[2] = {row, call_.sink.column[row]};
        add_diquark(diquark, weight(row, source_row) * quarks_[i].block(block, sink[i], d),
                    quarks_[k].block(block, sink[k], source[call_.pairing[k]]));
      }
      for (int g = 0; g < 4; ++g)
        add_element_products(sum[g], diquark, quarks_[2].block(block, g, source[call_.pairing[2]]));
    }
    for (int g = 0; g < 4; ++g)
      call_.out.template store<Layout>(4 * g + d, block - call_.first_block, sum[g]);
  }

  TRELLIS_SITE_FN Complex<Real> weight(int row, int source_row) const {
    return Complex<Real>{Real(call_.sink.re[row]), Real(call_.sink.im[row])} *
           Complex<Real>{Real(call_.source.re[source_row]), Real(call_.source.im[source_row])};
  }

  Quark quarks_[3];
  OctetProductsCall call_;
};

/// It forms the crossed products of a spin d, for devices, where a site has a thread for each. The threads of
/// some sites lie beside each other, so that they find the quarks in a cache.
template <class Layout, class Storage>
struct PartOfOctetProducts {
  static constexpr int parts = 4;
  OctetProducts<Layout, Storage> all;
  int first_block, end_block;

  TRELLIS_SITE_FN void operator()(int thread) const {
    const PartOfSite at = part_of_site<parts>(thread);
    if (first_block + at.site < end_block) all.crossed(first_block + at.site, at.part);
  }
};

/// It is T of quarks that are projected at sink and source to gamma_t = sign: spin 0 = (e_0 + sign e_2)/sqrt2
/// (down), spin 1 = (e_1 + sign e_3)/sqrt2 (up). The component is 16 (2 s0 + s0') + 4 (2 s1 + s1') + 2 s2 +
/// s2'. A site takes 864 flop of projections, 16 diquarks and 64 products; 3 * 288 reals are read, 128
/// doubles written.
struct ProjectedProductsCall {
  RawField quarks[3];
  int sign = 1;
  ProductBuffer out;
  int first_block = 0;
};

inline constexpr int projected_components = 64;

template <class Layout, class Storage>
class ProjectedProducts {
 public:
  using Quark = PropagatorView<Layout, Storage>;
  using Real = typename Quark::Real;

  explicit ProjectedProducts(const ProjectedProductsCall& call)
      : quarks_{Quark(call.quarks[0]), Quark(call.quarks[1]), Quark(call.quarks[2])}, call_{call} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    ColorMatrix<Real> last[4];
    for (int n = 0; n < 4; ++n) last[n] = projected(2, block, n / 2, n % 2);
    for (int m = 0; m < 4; ++m) {
      const ColorMatrix<Real> first = projected(0, block, m / 2, m % 2);
      for (int n = 0; n < 4; ++n) {
        ColorMatrix<Real> diquark = zero_matrix<Real>();
        add_diquark(diquark, first, projected(1, block, n / 2, n % 2));
        for (int k = 0; k < 4; ++k) {
          Complex<Real> sum = zero_complex<Real>();
          add_element_products(sum, diquark, last[k]);
          call_.out.template store<Layout>(16 * m + 4 * n + k, block - call_.first_block, sum);
        }
      }
    }
  }

 private:
  /// Returns (S(s, s') + sign S(s, s'+2) + sign S(s+2, s') + S(s+2, s'+2)) / 2.
  TRELLIS_SITE_FN ColorMatrix<Real> projected(int quark, int block, int sink, int source) const {
    const Quark& S = quarks_[quark];
    const ColorMatrix<Real> diagonal = S.block(block, sink, source) + S.block(block, sink + 2, source + 2);
    const ColorMatrix<Real> mixed = S.block(block, sink, source + 2) + S.block(block, sink + 2, source);
    return Real(0.5) * (call_.sign > 0 ? diagonal + mixed : diagonal - mixed);
  }

  Quark quarks_[3];
  ProjectedProductsCall call_;
};

/// @pre blocks begin at call.first_block and are not a list
template <class Layout, class Storage>
void launch_octet_products(const OctetProductsCall& call, const SiteRange& blocks);
template <class Layout, class Storage>
void launch_projected_products(const ProjectedProductsCall& call, const SiteRange& blocks);

}  // namespace trellis
