#pragma once
/// A gauge field leads to the instantiation of a gauge kernel.
#include "trellis/device/kernel_table.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/field/link_dispatch.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {

/// Calls f.operator()<Layout, double>() with the layout of U. @pre U is in double precision
template <class F>
void dispatch_gauge(const GaugeField& U, F&& f) {
  require_double(U.precision());
  dispatch_links(U.site_tables(), f);
}
/// Calls f.operator()<Layout, Storage>() with the layout and the precision of U.
template <class F>
void dispatch_gauge_precision(const GaugeField& U, F&& f) {
  dispatch_links(U.site_tables(), U.precision(), f);
}

inline SiteRange inner_sites(const GaugeField& U) { return U.site_tables().inner(); }
inline SiteRange inner_sites(const GaugeField& U, int parity) { return U.site_tables().inner(parity); }

/// Returns the links of U; their halo is brought up to date, at least to `layers` (collective).
inline GaugeCall call_of_links(const GaugeField& U, int layers) {
  U.update_halo(layers);
  const size_t bytes_of_block = 4 * 18 * element_bytes(U.precision()) * size_t(U.lanes());
  if (!launches_can_be_cut(U.backend())) return {U.raw(), U.tables()};
  return {U.raw(), U.tables(), size_t(inner_sites(U).size()) * bytes_of_block, &U.geometry()};
}
/// Does the same for what is made of staples in all planes. Throws BadArgument on lattices with an extent of
/// 1.
inline GaugeCall gauge_call(const GaugeField& U, int layers = GaugeField::halo_width) {
  require_all_directions(U.geometry(), "what is made of staples (action, force, smearing, flow, heat bath)");
  return call_of_links(U, layers);
}

}  // namespace trellis
