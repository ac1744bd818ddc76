// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/device_linear_algebra.hpp"

namespace trellis {

namespace {
template <class AtSite>
void combine(const CombineCall& call, const SiteRange& sites) {
  for (int slot = 0; slot < call.slots; ++slot) {
    const AtSite f(call, slot);
    call.norms ? cuda::reduce_sites<1>(sites, f, call.norms + slot) : cuda::for_each_site(sites, 1, f);
  }
}

template <class NormTerm, class DotTerms>
void dot(const DotCall& call, const SiteRange& sites) {
  for (int slot = 0; slot < call.slots; ++slot) {
    if (call.y.data == nullptr) {
      cuda::reduce_sites<1>(sites, NormTerm(call, slot), call.re + slot);
      continue;
    }
    ExactSum sums[2] = {call.re[slot], call.im[slot]};
    cuda::reduce_sites<2>(sites, DotTerms(call, slot), sums);
    call.re[slot] = sums[0];
    call.im[slot] = sums[1];
  }
}

template <class AtSite>
void update(const UpdateCall& call, const SiteRange& sites) {
  for (int slot = 0; slot < call.slots; ++slot) cuda::for_each_site(sites, 1, AtSite(call, slot));
}

template <class Storage, bool is_complex>
void combine_reals(const CombineCall& call, const SiteRange& sites) {
  if (call.reals == 24) return combine<CombineAtSite<CudaLayout, Storage, 24, is_complex>>(call, sites);
  if (call.reals == 6) return combine<CombineAtSite<CudaLayout, Storage, 6, is_complex>>(call, sites);
  combine<CombineAnyAtSite<CudaLayout, Storage, is_complex>>(call, sites);
}
}  // namespace

template <class Layout, class Storage>
void launch_combine(const CombineCall& call, const SiteRange& sites) {
  call.is_complex ? combine_reals<Storage, true>(call, sites) : combine_reals<Storage, false>(call, sites);
}
template <class Layout, class Storage>
void launch_dot(const DotCall& call, const SiteRange& sites) {
  if (call.reals == 24)
    return dot<NormAtSite<Layout, Storage, 24>, DotAtSite<Layout, Storage, 24>>(call, sites);
  if (call.reals == 6) return dot<NormAtSite<Layout, Storage, 6>, DotAtSite<Layout, Storage, 6>>(call, sites);
  dot<NormAnyAtSite<Layout, Storage>, DotAnyAtSite<Layout, Storage>>(call, sites);
}
template <class Layout, class Storage>
void launch_update(const UpdateCall& call, const SiteRange& sites) {
  if (call.reals == 24) return update<UpdateAtSite<Layout, Storage, 24>>(call, sites);
  if (call.reals == 6) return update<UpdateAtSite<Layout, Storage, 6>>(call, sites);
  update<UpdateAnyAtSite<Layout, Storage>>(call, sites);
}

template void launch_combine<InstantiatedLayout, InstantiatedStorage>(const CombineCall&, const SiteRange&);
template void launch_dot<InstantiatedLayout, InstantiatedStorage>(const DotCall&, const SiteRange&);
template void launch_update<InstantiatedLayout, InstantiatedStorage>(const UpdateCall&, const SiteRange&);

}  // namespace trellis
