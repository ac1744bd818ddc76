// instantiate: BACKEND=cuda STORAGE=double,float
#include "trellis/kernels/contract/nucleon_sink.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_nucleon_sink(const NucleonSinkCall& call, const SiteRange& sites) {
  launch::for_each_site(sites, SpinColourMatrix::size, NucleonSinkColumn<Layout, Storage>(call));
}

template void launch_nucleon_sink<InstantiatedLayout, InstantiatedStorage>(const NucleonSinkCall&,
                                                                           const SiteRange&);

}  // namespace trellis
