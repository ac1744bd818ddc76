// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/twisted_clover.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_twisted_clover(const TwistedCloverCall& call, const SiteRange& sites) {
  launch::for_each_site(sites, call.slots, TwistedClover<Layout, Storage>(call));
}

template <class Layout, class Storage>
void launch_twisted_clover_inverse(const RawField& B, const RawField& C, const RawField& A, double mu,
                                   const SiteRange& sites) {
  if constexpr (std::is_same_v<Storage, double> && !std::is_same_v<Layout, GpuLayout>) {
    const TwistedCloverInverse<Layout, Storage> kernel(B, C, A, mu);
    launch::for_each_site(sites, kernel);
  }
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_twisted_clover<L, S>(const TwistedCloverCall&, const SiteRange&);
template void launch_twisted_clover_inverse<L, S>(const RawField&, const RawField&, const RawField&, double,
                                                  const SiteRange&);

}  // namespace trellis
