// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/many_fields.hpp"

namespace trellis {

namespace {
constexpr int fields_at_a_time = 4;  // of products, whose terms are kept in registers

template <class Storage, int N>
void dots(const ManyFieldsCall& call, const SiteRange& sites) {
  for (int column = 0; column < call.width; ++column)
    for (int field = 0; field < call.count; field += fields_at_a_time)
      for (int slice = 0; slice < call.slices; ++slice) {
        ExactSum sums[2 * fields_at_a_time];
        cuda::reduce_sites<2 * fields_at_a_time>(
            sites, DotsAtSite<CudaLayout, Storage, N, fields_at_a_time>(call, column, field, slice), sums);
        for (int k = 0; k < 2 * fields_at_a_time && 2 * field + k < 2 * call.count; ++k)
          call.sums[2 * (column * call.count + field) + k].merge(sums[k]);
      }
}

template <class Storage, int N>
void subtract(const ManyFieldsCall& call, const SiteRange& sites) {
  for (int column = 0; column < call.width; ++column)
    for (int slice = 0; slice < call.slices; ++slice) {
      const SubtractAtSite<CudaLayout, Storage, N> f(call, column, slice);
      call.norms ? cuda::reduce_sites<1>(sites, f, call.norms + column) : cuda::for_each_site(sites, 1, f);
    }
}

void require_known(int reals) {
  if (reals != 24 && reals != 6)
    throw BadArgument(message("products of many fields of ", reals, " reals per site: expected 24 or 6"));
}
}  // namespace

template <class Layout, class Storage>
void launch_many_dots(const ManyFieldsCall& call, const SiteRange& sites) {
  require_known(call.reals);
  call.reals == 24 ? dots<Storage, 24>(call, sites) : dots<Storage, 6>(call, sites);
}
template <class Layout, class Storage>
void launch_many_subtract(const ManyFieldsCall& call, const SiteRange& sites) {
  require_known(call.reals);
  call.reals == 24 ? subtract<Storage, 24>(call, sites) : subtract<Storage, 6>(call, sites);
}

template void launch_many_dots<InstantiatedLayout, InstantiatedStorage>(const ManyFieldsCall&,
                                                                        const SiteRange&);
template void launch_many_subtract<InstantiatedLayout, InstantiatedStorage>(const ManyFieldsCall&,
                                                                            const SiteRange&);

}  // namespace trellis
