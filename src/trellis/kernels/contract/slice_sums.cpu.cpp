#include "trellis/kernels/contract/slice_sums.hpp"

#include "trellis/device/cpu/for_each_site.hpp"

namespace trellis {

namespace {
constexpr int width = sites_of_slice_sums;
using Real = Lanes<double, width>;

/// Both parts of one component, one momentum and one group.
void add_component(const SliceSumsCall& call, int group, int momentum, int component) {
  const ProductBuffer& buffer = call.products;
  const double* re = buffer.row(2 * component, group);
  const double* im = buffer.row(2 * component + 1, group);
  const double* phase_re = call.phases + (size_t(2 * momentum) * buffer.groups + group) * buffer.stride;
  const double* phase_im = call.phases + (size_t(2 * momentum + 1) * buffer.groups + group) * buffer.stride;
  cpu::TermBuffer sums[2];
  for (int i = 0; i < call.sites; i += width) {
    const Complex<Real> product = Complex<Real>{Real::load(phase_re + i), Real::load(phase_im + i)} *
                                  Complex<Real>{Real::load(re + i), Real::load(im + i)};
    sums[0].push(product.re);
    sums[1].push(product.im);
  }
  ExactSum* out = call.sums + ((size_t(group) * call.momenta + momentum) * call.components + component) * 2;
  out[0].merge(sums[0].take());
  out[1].merge(sums[1].take());
}
}  // namespace

void launch_slice_sums_of_host(const SliceSumsCall& call) {
  cpu::for_each_site(SiteRange(call.products.groups * call.momenta * call.components), [&](int index) {
    add_component(call, index / (call.momenta * call.components), index / call.components % call.momenta,
                  index % call.components);
  });
}

}  // namespace trellis
