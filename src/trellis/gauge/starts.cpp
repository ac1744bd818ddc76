#include "trellis/gauge/starts.hpp"

#include <cmath>

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/link_fields.hpp"

namespace trellis {

namespace {
void set_random(GaugeField& U, RandomLinksCall call) {
  call.gauge = {U.raw(), U.tables()};
  call.sites = U.site_tables().global_sites();
  dispatch_gauge(
      U, [&]<class Layout, class Storage>() { launch_random_links<Layout, Storage>(call, inner_sites(U)); });
  U.halo_is_stale();
}
}  // namespace

void set_cold(GaugeField& U) { U = GaugeField::like(U); }

void set_hot(GaugeField& U, uint64_t seed, uint64_t stream) {
  RandomLinksCall call;
  call.key = random_key(seed, stream);
  set_random(U, call);
}

void set_weak(GaugeField& U, double size, uint64_t seed, uint64_t stream) {
  TRELLIS_REQUIRE(size >= 0 && size <= 1, "size of a weak field: ", size);
  RandomLinksCall call;
  call.key = random_key(seed, stream);
  call.is_hot = false;
  call.size = size;
  set_random(U, call);
}

void reunitarise_links(GaugeField& U) {
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_reunitarise<Layout, Storage>({U.raw(), U.tables()}, inner_sites(U));
  });
  U.halo_is_stale();
}

}  // namespace trellis
