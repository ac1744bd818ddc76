// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/u3_projection.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_u3_projection(const U3ProjectionCall& call, const SiteRange& inner_blocks) {
  const U3Projection<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}
template <class Layout, class Storage>
void launch_u3_derivative(const U3DerivativeCall& call, const SiteRange& inner_blocks, ExactSum* guarded) {
  const U3Derivative<Layout, Storage> kernel(call);
  launch::reduce_sites<1>(inner_blocks, kernel, guarded);
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_u3_projection<L, S>(const U3ProjectionCall&, const SiteRange&);
template void launch_u3_derivative<L, S>(const U3DerivativeCall&, const SiteRange&, ExactSum*);

}  // namespace trellis
