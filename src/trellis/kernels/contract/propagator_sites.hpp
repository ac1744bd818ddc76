#pragma once
/// These kernels work on the columns of a propagator site by site.
#include "trellis/kernels/contract/site_products.hpp"
#include "trellis/kernels/contract/sparse_spin_matrix.hpp"

namespace trellis {

struct SiteRange;

/// It computes out = Gamma in, in double. Per site and column it takes 72 flop; 24 reals are read and
/// written.
struct SpinMultiplyCall {
  RawField in, out;
  SparseSpinMatrix gamma;
  int slots = 1;
};

template <class Layout, class Storage>
class SpinMultiply {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = LaneReal<double, Layout::lanes>;

  explicit SpinMultiply(const SpinMultiplyCall& call) : in_{call.in}, out_{call.out}, gamma_{call.gamma} {}

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    const auto unit = in_.load_unit(block, slot);
    typename Array::Real result[24];
    unroll<4 * Nc>([&](auto n) TRELLIS_INLINE_LAMBDA {
      constexpr int row = n / Nc, colour = n % Nc;
      const Complex<Real> phase{Real(gamma_.re[row]), Real(gamma_.im[row])};
      const int from = 6 * gamma_.column[row] + 2 * colour;
      const Complex<Real> psi{convert_real<double>(in_.component(block, slot, from, unit)),
                              convert_real<double>(in_.component(block, slot, from + 1, unit))};
      const Complex<Real> product = phase * psi;
      result[2 * n] = convert_real<typename Array::Scalar>(product.re);
      result[2 * n + 1] = convert_real<typename Array::Scalar>(product.im);
    });
    out_.store(block, slot, result);
  }

 private:
  Array in_, out_;
  SparseSpinMatrix gamma_;
};

/// It forms the one product sum |S|^2 over spins and colours, in the order of the columns; it takes 576 flop
/// a site.
struct NormProductsCall {
  RawField columns;
  int slots = 12;
  ProductBuffer out;
  int first_block = 0;  ///< it is block number 0 of the chunk
};

template <class Layout, class Storage>
class NormProducts {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = LaneReal<double, Layout::lanes>;

  explicit NormProducts(const NormProductsCall& call)
      : columns_{call.columns}, slots_{call.slots}, out_{call.out}, first_{call.first_block} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    Real sum(0.0);
    for (int slot = 0; slot < slots_; ++slot) {
      typename Array::Real psi[24];
      columns_.load(block, slot, psi);
      unroll<24>([&](auto i) TRELLIS_INLINE_LAMBDA {
        const Real r = convert_real<double>(psi[i]);
        sum = fma(r, r, sum);
      });
    }
    out_.template store<Layout>(0, block - first_, Complex<Real>{sum, Real(0.0)});
  }

 private:
  Array columns_;
  int slots_;
  ProductBuffer out_;
  int first_;
};

/// @pre in and out are different fields
template <class Layout, class Storage>
void launch_spin_multiply(const SpinMultiplyCall& call, const SiteRange& blocks);
/// @pre blocks begin at call.first_block and are not a list
template <class Layout, class Storage>
void launch_norm_products(const NormProductsCall& call, const SiteRange& blocks);

}  // namespace trellis
