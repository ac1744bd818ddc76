#pragma once
/// These functions lead from a number of lanes to the instantiation of a kernel that works on the host alone.
#include "trellis/field/precision_dispatch.hpp"

namespace trellis {

/// Calls f.operator()<Layout, Storage>() with the host's own layout, Storage double or float.
template <class F>
void dispatch_on_host(Precision precision, int lanes, F&& f) {
  dispatch_unquantised(Backend::cpu, precision, lanes, [&]<class Layout, class Storage>() {
    if constexpr (!std::is_base_of_v<GpuLayout, Layout>) f.template operator()<Layout, Storage>();
  });
}

/// Does the same for kernels that exist in double only.
template <class F>
void dispatch_on_host(int lanes, F&& f) {
  dispatch_on_host(Precision::double_precision, lanes, [&]<class Layout, class Storage>() {
    if constexpr (std::is_same_v<Storage, double>) f.template operator()<Layout, Storage>();
  });
}

/// Does the same for kernels that take any storage.
template <class F>
void dispatch_any_on_host(Precision precision, int lanes, F&& f) {
  dispatch(Backend::cpu, precision, lanes, [&]<class Layout, class Storage>() {
    if constexpr (!std::is_base_of_v<GpuLayout, Layout>) f.template operator()<Layout, Storage>();
  });
}

}  // namespace trellis
