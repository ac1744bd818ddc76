// instantiate: BACKEND=cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/linalg/convert.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class To, class From>
void convert_from(const ConvertCall& call, const SiteRange& sites) {
  if (call.reals == 24)
    launch::for_each_site(sites, call.slots, ConvertAtSite<Layout, To, From, 24>(call));
  else if (call.reals == 6)
    launch::for_each_site(sites, call.slots, ConvertAtSite<Layout, To, From, 6>(call));
  else
    launch::for_each_site(sites, call.slots, ConvertAnyAtSite<Layout, To, From>(call));
}
}  // namespace

template <class Layout, class To>
void launch_convert(const ConvertCall& call, const SiteRange& sites) {
  switch (call.from) {
    case Precision::double_precision:
      return convert_from<Layout, To, double>(call, sites);
    case Precision::single_precision:
      return convert_from<Layout, To, float>(call, sites);
    case Precision::half_precision:
      return convert_from<Layout, To, Half>(call, sites);
    case Precision::fp16_precision:
      return convert_from<Layout, To, Fp16>(call, sites);
  }
}

template void launch_convert<InstantiatedLayout, InstantiatedStorage>(const ConvertCall&, const SiteRange&);

}  // namespace trellis
