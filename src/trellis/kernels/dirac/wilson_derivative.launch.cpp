// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/dirac/wilson_derivative.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_spinor_pair(const SpinorPairCall& call, const SiteRange& even_odd_blocks) {
  const SpinorPair<Layout, Storage> kernel(call);
  launch::for_each_site(even_odd_blocks, kernel);
}

template <class Layout, class Storage>
void launch_wilson_derivative(const WilsonDerivativeCall& call, const SiteRange& inner_blocks) {
  const WilsonHopDerivative<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_clover_insertion(const CloverInsertionCall& call, const SiteRange& inner_blocks) {
  const CloverInsertion<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_clover_derivative(const CloverDerivativeCall& call, const SiteRange& inner_blocks) {
  const CloverDerivative<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_spinor_pair<L, S>(const SpinorPairCall&, const SiteRange&);
template void launch_wilson_derivative<L, S>(const WilsonDerivativeCall&, const SiteRange&);
template void launch_clover_insertion<L, S>(const CloverInsertionCall&, const SiteRange&);
template void launch_clover_derivative<L, S>(const CloverDerivativeCall&, const SiteRange&);

}  // namespace trellis
