// instantiate: BACKEND=cpu LANES=1
#include "trellis/kernels/contract/slice_sums.hpp"

#include "trellis/algebra/lane_functions.hpp"
#include "trellis/device/launch.hpp"

namespace trellis {

namespace {
/// It forms both parts of one component, one momentum and one group, several sites at a time.
struct ComponentTerms {
  static constexpr int width = sites_of_slice_sums;
  const SliceSumsCall& call;

  template <class Buffers>
  void operator()(int index, Buffers& sums) const {
    using Real = LaneReal<double, width>;
    const int group = index / (call.momenta * call.components),
              momentum = index / call.components % call.momenta, component = index % call.components;
    const ProductBuffer& buffer = call.products;
    const double* re = buffer.row(2 * component, group);
    const double* im = buffer.row(2 * component + 1, group);
    const double* phase_re = call.phases + (size_t(2 * momentum) * buffer.groups + group) * buffer.stride;
    const double* phase_im = call.phases + (size_t(2 * momentum + 1) * buffer.groups + group) * buffer.stride;
    for (int i = 0; i < call.sites; i += width) {
      const Complex<Real> product = Complex<Real>{Real::load(phase_re + i), Real::load(phase_im + i)} *
                                    Complex<Real>{Real::load(re + i), Real::load(im + i)};
      sums[0].push(product.re);
      sums[1].push(product.im);
    }
  }
};
}  // namespace

void launch_slice_sums(const SliceSumsCall& call) {
  launch::reduce_each<2>(call.products.groups * call.momenta * call.components, ComponentTerms{call},
                         call.sums);
}

}  // namespace trellis
