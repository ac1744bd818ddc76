// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/device_linear_algebra.hpp"

namespace trellis {

namespace {
template <class Storage, int N, bool is_complex>
void combine(const CombineCall& call, const SiteRange& sites) {
  for (int slot = 0; slot < call.slots; ++slot) {
    const CombineAtSite<CudaLayout, Storage, N, is_complex> f(call, slot);
    call.norms ? cuda::reduce_sites<1>(sites, f, call.norms + slot) : cuda::for_each_site(sites, 1, f);
  }
}

template <class Storage, int N>
void dot(const DotCall& call, const SiteRange& sites) {
  for (int slot = 0; slot < call.slots; ++slot) {
    if (call.y.data == nullptr) {
      cuda::reduce_sites<1>(sites, NormAtSite<CudaLayout, Storage, N>(call, slot), call.re + slot);
      continue;
    }
    ExactSum sums[2] = {call.re[slot], call.im[slot]};
    cuda::reduce_sites<2>(sites, DotAtSite<CudaLayout, Storage, N>(call, slot), sums);
    call.re[slot] = sums[0];
    call.im[slot] = sums[1];
  }
}

template <class Storage, int N>
void update(const UpdateCall& call, const SiteRange& sites) {
  for (int slot = 0; slot < call.slots; ++slot)
    cuda::for_each_site(sites, 1, UpdateAtSite<CudaLayout, Storage, N>(call, slot));
}

void require_known(int reals) {
  if (reals != 24 && reals != 6)
    throw BadArgument(message("linear algebra for ", reals, " reals per site is not among 24, 6"));
}
}  // namespace

template <class Layout, class Storage>
void launch_combine(const CombineCall& call, const SiteRange& sites) {
  require_known(call.reals);
  if (call.reals == 24)
    return call.is_complex ? combine<Storage, 24, true>(call, sites)
                           : combine<Storage, 24, false>(call, sites);
  call.is_complex ? combine<Storage, 6, true>(call, sites) : combine<Storage, 6, false>(call, sites);
}
template <class Layout, class Storage>
void launch_dot(const DotCall& call, const SiteRange& sites) {
  require_known(call.reals);
  call.reals == 24 ? dot<Storage, 24>(call, sites) : dot<Storage, 6>(call, sites);
}
template <class Layout, class Storage>
void launch_update(const UpdateCall& call, const SiteRange& sites) {
  require_known(call.reals);
  call.reals == 24 ? update<Storage, 24>(call, sites) : update<Storage, 6>(call, sites);
}

template void launch_combine<InstantiatedLayout, InstantiatedStorage>(const CombineCall&, const SiteRange&);
template void launch_dot<InstantiatedLayout, InstantiatedStorage>(const DotCall&, const SiteRange&);
template void launch_update<InstantiatedLayout, InstantiatedStorage>(const UpdateCall&, const SiteRange&);

}  // namespace trellis
