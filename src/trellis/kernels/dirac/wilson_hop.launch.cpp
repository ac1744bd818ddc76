// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/dirac/wilson_hop_lines.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void run(const WilsonHopCall& call, const SiteRange& sites) {
  const WilsonHop<Layout, Storage, LinkReals> hop(call);
  const WilsonHopLines<Layout, Storage, LinkReals> lines(call);
  launch::for_each_site_read_ahead<Storage>(sites, call.slots, hop, lines, {call.working_set, call.geometry},
                                            launch::Columns{call.columns_per_thread});
}
}  // namespace

template <class Layout, class Storage>
void launch_wilson_hop(const WilsonHopCall& call, const SiteRange& sites) {
  if (call.link_reals == 18) return run<Layout, Storage, 18>(call, sites);
  if (call.link_reals == 12) return run<Layout, Storage, 12>(call, sites);
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 12"));
}

template void launch_wilson_hop<InstantiatedLayout, InstantiatedStorage>(const WilsonHopCall&,
                                                                         const SiteRange&);

}  // namespace trellis
