// instantiate: BACKEND=cuda
#include "trellis/kernels/source/site_source.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// Spinors have 24 reals, and colour vectors 6.
template <class Layout, template <class, int> class Kernel>
void run(const SiteSourceCall& call) {
  const SiteRange sites(call.sites);
  if (call.reals == 24)
    launch::for_each_site(
        sites, call.field.slots,
        Kernel<Layout, 24>{SiteArray<Layout, double, 24>(call.field), call.coordinates, call.shape});
  else
    launch::for_each_site(
        sites, call.field.slots,
        Kernel<Layout, 6>{SiteArray<Layout, double, 6>(call.field), call.coordinates, call.shape});
}
}  // namespace

template <class Layout>
void launch_set_source(const SiteSourceCall& call) {
  run<Layout, SetSource>(call);
}
template <class Layout>
void launch_set_noise(const SiteSourceCall& call) {
  run<Layout, SetNoise>(call);
}
template <class Layout>
void launch_times_phases(const SiteSourceCall& call) {
  run<Layout, TimesPhases>(call);
}

template void launch_set_source<InstantiatedLayout>(const SiteSourceCall&);
template void launch_set_noise<InstantiatedLayout>(const SiteSourceCall&);
template void launch_times_phases<InstantiatedLayout>(const SiteSourceCall&);

}  // namespace trellis
