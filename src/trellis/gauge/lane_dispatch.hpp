#pragma once
/// From a gauge field to the instantiation of a gauge kernel.
#include "trellis/device/site_range.hpp"
#include "trellis/field/dispatch.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

/// Calls f.operator()<Layout, Storage>() with the layout of U.
template <class F>
void dispatch_gauge(const GaugeField& U, F&& f) {
  dispatch(Backend::cpu, Precision::double_precision, U.lanes(), [&]<class Layout, class Storage>() {
    if constexpr (std::is_same_v<Storage, double> && !std::is_base_of_v<GpuLayout, Layout>)
      f.template operator()<Layout, Storage>();
  });
}

/// The links of U; their halo is brought up to date, at least to `layers` (collective).
inline GaugeCall gauge_call(const GaugeField& U, int layers = GaugeField::halo_width) {
  U.update_halo(layers);
  return {U.raw(), U.tables()};
}

inline SiteRange inner_sites(const GaugeField& U) { return SiteRange(U.layout().inner()); }
inline SiteRange inner_sites(const GaugeField& U, int parity) { return SiteRange(U.layout().inner(parity)); }

}  // namespace trellis
