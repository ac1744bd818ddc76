// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/dirac/clover_determinant.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_clover_determinant(const RawField& clover, const SiteRange& sites, ExactSum* sum) {
  const CloverDeterminant<Layout, Storage> kernel(clover);
  launch::reduce_sites<1>(sites, kernel, sum);
}

template void launch_clover_determinant<InstantiatedLayout, InstantiatedStorage>(const RawField&,
                                                                                 const SiteRange&, ExactSum*);

}  // namespace trellis
