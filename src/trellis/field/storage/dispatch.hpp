#pragma once
/// This is the one list of legal instantiations: it leads from run-time tags to layout and storage types.
#include <type_traits>

#include "trellis/base/built_kernels.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/precision.hpp"
#include "trellis/device/launch_count.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

namespace detail {
/// Kernels that only tests take are compiled with the tests.
template <class Layout, class Storage>
inline constexpr bool is_built = true;
template <class Storage>
inline constexpr bool is_built<GpuLayout, Storage> = built_kernels::has_emulated_gpu;
template <int W, class Storage>
inline constexpr bool is_built<CpuLayout<W>, Storage> = W <= (std::is_same_v<Storage, double>
                                                                  ? built_kernels::most_lanes_in_double
                                                                  : built_kernels::most_lanes_otherwise);

template <class Layout, class Storage, class F>
void call_if_built(Precision precision, F&& f) {
  if constexpr (is_built<Layout, Storage>)
    f.template operator()<Layout, Storage>();
  else
    throw NotAvailable(message(
        "kernels in ", name_of(precision), " for ",
        std::is_same_v<Layout, GpuLayout> ? "the emulated GPU layout" : message(Layout::lanes, " lanes"),
        " serve tests only and are not in this build; cmake -DTRELLIS_KERNELS_FOR_TESTS=ON compiles them"));
}

template <class Layout, class F>
void dispatch_storage(Precision precision, F&& f) {
  switch (precision) {
    case Precision::double_precision:
      return call_if_built<Layout, double>(precision, f);
    case Precision::single_precision:
      return call_if_built<Layout, float>(precision, f);
    case Precision::half_precision:
      return call_if_built<Layout, Half>(precision, f);
    case Precision::fp16_precision:
      return call_if_built<Layout, Fp16>(precision, f);
  }
}
}  // namespace detail

/// Calls f.operator()<Layout, Storage>() for the types that the tags name, and counts it as a launch.
/// Legal backends are cpu with {1, 4, 8, 16} lanes, gpu_emulated and cuda (in a CUDA build), each with
/// {double, float, half, fp16}. Throws NotAvailable for those that only tests take, where the build has none
/// for tests.
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
