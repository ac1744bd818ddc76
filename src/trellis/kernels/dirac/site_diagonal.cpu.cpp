// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/dirac/site_diagonal.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_site_diagonal(const SiteDiagonalCall& call, const SiteRange& sites) {
  const SiteDiagonal<Layout, Storage> kernel(call);
  cpu::for_each_site(sites, [&](int block) {
    for (int slot = 0; slot < call.slots; ++slot) kernel(block, slot);
  });
}

template void launch_site_diagonal<InstantiatedLayout, InstantiatedStorage>(const SiteDiagonalCall&,
                                                                            const SiteRange&);

}  // namespace trellis
