#pragma once
/// Numbers in canonical order are read into fields, and written from them, site by site.
#include "trellis/device/threads.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// Calls f(position, canonical site) for all local sites.
template <class F>
void for_each_position(const SpinorField& field, const F& f) {
  const Geometry& g = field.geometry();
  for_each_index(int(g.local_volume()),
                 [&](int site) { f(field.layout().position(site_coord(site, g.local())), size_t(site)); });
}

}  // namespace trellis
