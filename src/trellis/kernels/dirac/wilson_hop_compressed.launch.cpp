// instantiate: BACKEND=cpu STORAGE=double,float,Half LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half
#include "trellis/kernels/dirac/wilson_hop_compressed.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/dirac/wilson_hop_lines.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_wilson_hop_compressed(const WilsonHopCall& call, const SiteRange& sites) {
  const WilsonHop<Layout, Storage, 8> hop(call);
  const WilsonHopLines<Layout, Storage, 8> lines(call);
  launch::for_each_site_read_ahead<Storage>(sites, call.slots, hop, lines, {call.working_set, call.geometry},
                                            launch::Columns{call.columns_per_thread});
}

template <class Layout, class Storage>
void launch_wilson_pack_compressed(const WilsonFacesCall& call) {
  const PackFaces<Layout, WilsonFaces<Layout, Storage, 8>> faces{WilsonFaces<Layout, Storage, 8>(call)};
  launch::for_each_site(SiteRange(faces.sites()), call.slots, faces);
}

template void launch_wilson_hop_compressed<InstantiatedLayout, InstantiatedStorage>(const WilsonHopCall&,
                                                                                    const SiteRange&);
template void launch_wilson_pack_compressed<InstantiatedLayout, InstantiatedStorage>(const WilsonFacesCall&);

}  // namespace trellis
