#pragma once
/// The one list of legal instantiations: run-time tags to layout and storage types.
#include "trellis/base/error.hpp"
#include "trellis/base/precision.hpp"
#include "trellis/device/launch_count.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

namespace detail {
template <class Layout, class F>
void dispatch_storage(Precision precision, F&& f) {
  switch (precision) {
    case Precision::double_precision:
      return f.template operator()<Layout, double>();
    case Precision::single_precision:
      return f.template operator()<Layout, float>();
    case Precision::half_precision:
      return f.template operator()<Layout, Half>();
    case Precision::fp16_precision:
      return f.template operator()<Layout, Fp16>();
  }
}
}  // namespace detail

/// Calls f.operator()<Layout, Storage>() for the types that the tags name, and counts it as a launch.
/// Legal: cpu x lanes {1, 4, 8, 16}, gpu_emulated, cuda (in a CUDA build); each x {double, float, half,
/// fp16}.
template <class F>
void dispatch(Backend backend, Precision precision, int lanes, F&& f) {
  count_launches();
  if (backend == Backend::gpu_emulated) return detail::dispatch_storage<GpuLayout>(precision, f);
#ifdef TRELLIS_WITH_CUDA
  if (backend == Backend::cuda) return detail::dispatch_storage<CudaLayout>(precision, f);
#endif
  if (backend == Backend::cpu) {
    switch (lanes) {
      case 1:
        return detail::dispatch_storage<CpuLayout<1>>(precision, f);
      case 4:
        return detail::dispatch_storage<CpuLayout<4>>(precision, f);
      case 8:
        return detail::dispatch_storage<CpuLayout<8>>(precision, f);
      case 16:
        return detail::dispatch_storage<CpuLayout<16>>(precision, f);
    }
  }
  throw NotAvailable(message("no kernels for backend ", name_of(backend), " with ", lanes, " lanes"));
}

}  // namespace trellis
