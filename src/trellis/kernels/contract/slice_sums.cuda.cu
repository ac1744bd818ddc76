#include "trellis/kernels/contract/slice_sums.hpp"

#include "trellis/device/cuda/for_each_site.cuh"

namespace trellis {

void launch_slice_sums_of_device(const SliceSumsCall& call) {
  const size_t row = size_t(call.products.stride), stride = size_t(call.sites);
  double* terms = cuda::term_buffer(size_t(2 * call.components) * stride);
  for (int p = 0; p < call.momenta; ++p) {
    const double* phase = call.phases + size_t(2 * p) * row;
    cuda::for_each_site(SiteRange(call.sites), call.components,
                        SliceTerms{call.products, phase, phase + row, terms, stride});
    cuda::reduce_rows(terms, call.sites, stride, 2 * call.components,
                      call.sums + size_t(p) * size_t(2 * call.components));
  }
}

}  // namespace trellis
