#pragma once
/// Sums of products over the sites of a time slice, with a phase for each momentum: exact, so that their bits
/// do not depend on the order of the sites. 6 flop per site, component and momentum, without the exact sums.
#include <type_traits>

#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

struct SliceSumsCall {
  ProductBuffer products;
  int components = 0;
  int sites = 0;                   ///< of a group
  const double* phases = nullptr;  ///< [momentum][re, im][group][stride]
  int momenta = 1;
  ExactSum* sums = nullptr;  ///< [group][momentum][component][re, im]; added to
};

/// It has a site's terms of one momentum and group 0, for devices: [component][re, im] of `stride` terms.
struct SliceTerms {
  ProductBuffer products;
  const double *phase_re, *phase_im;
  double* terms;
  size_t stride;

  TRELLIS_SITE_FN void operator()(int site, int component) const {
    const Complex<double> product =
        Complex<double>{phase_re[site], phase_im[site]} *
        Complex<double>{products.row(2 * component, 0)[site], products.row(2 * component + 1, 0)[site]};
    terms[size_t(2 * component) * stride + size_t(site)] = product.re;
    terms[size_t(2 * component + 1) * stride + size_t(site)] = product.im;
  }
};

/// How many sites of a row a launch reads at once: rows that end earlier are filled with zeros.
inline constexpr int sites_of_slice_sums = 8;

/// sums += sum over the sites of a group of phase * product: in memory of the host; for CudaLayout in that of
/// a device, but for the sums, site by site, and for one group.
template <class Layout>
void launch_slice_sums_of(const SliceSumsCall& call);

/// The launch for fields of a layout: the products lie alike for all layouts of the host.
template <class Layout>
void launch_slice_sums(const SliceSumsCall& call) {
  using Products = std::conditional_t<std::is_same_v<Layout, CudaLayout>, CudaLayout, CpuLayout<1>>;
  launch_slice_sums_of<Products>(call);
}

}  // namespace trellis
