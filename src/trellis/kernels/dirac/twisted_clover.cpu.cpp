// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/dirac/twisted_clover.hpp"
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_twisted_clover(const TwistedCloverCall& call, const SiteRange& sites) {
  const TwistedClover<Layout, Storage> kernel(call);
  cpu::for_each_site(sites, [&](int block) {
    for (int slot = 0; slot < call.slots; ++slot) kernel(block, slot);
  });
}

template <class Layout, class Storage>
void launch_twisted_clover_inverse(const RawField& B, const RawField& C, const RawField& A, double mu,
                                   const SiteRange& sites) {
  if constexpr (std::is_same_v<Storage, double> && !std::is_base_of_v<GpuLayout, Layout>) {
    const TwistedCloverInverse<Layout, Storage> kernel(B, C, A, mu);
    cpu::for_each_site(sites, [&](int block) { kernel(block); });
  }
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_twisted_clover<L, S>(const TwistedCloverCall&, const SiteRange&);
template void launch_twisted_clover_inverse<L, S>(const RawField&, const RawField&, const RawField&, double,
                                                  const SiteRange&);

}  // namespace trellis
