#pragma once
/// Memory layouts of the backends. A layout says how many sites a kernel computes at once (lanes) and where
/// real number `component` of a site lies; kernels never see it.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trellis/base/annotations.hpp"

namespace trellis {

/// CPU: [block][slot][component][lane], or [slot][block]... for the links of hops, whose directions are
/// streams of their own; a "site" of a kernel is a block of W lattice sites. In 16-bit fixed point components
/// lie in pairs, [component / 2][lane][component % 2].
template <int W>
struct CpuLayout {
  static constexpr int lanes = W;
};

/// Returns the offset of a component of a lane in a block of the CPU layout, in elements; with Element
/// int16_t it is that of fixed point.
template <class Element>
TRELLIS_SITE_FN size_t cpu_component_offset(int component, int lane, int lanes) {
  if constexpr (std::is_same_v<Element, int16_t>)
    return size_t(component / 2 * lanes + lane) * 2 + size_t(component % 2);
  else
    return size_t(component) * size_t(lanes) + size_t(lane);
}

/// GPU: one thread per site, sites in groups of 32 (a warp), 16-byte loads:
/// [group][slot][component / G][site % 32][component % G], G = 16 / sizeof(real); what is left over of the
/// components forms a last, narrower group.
struct GpuLayout {
  static constexpr int lanes = 1;
  static constexpr int warp = 32;
};

/// The GPU layout on a real GPU (GpuLayout itself names its emulation on the host).
struct CudaLayout : GpuLayout {};

/// One stored element has so many reals (G of the GPU layout).
template <class Element>
inline constexpr int gpu_vector_length = 16 / int(sizeof(Element));

/// Returns the offset of a component in the GPU layout, in elements, counted from the (group, slot) origin.
TRELLIS_SITE_FN size_t gpu_component_offset(int component, int components, int lane, int vector_length) {
  const int whole = components - components % vector_length;
  if (component < whole)
    return size_t(component - component % vector_length) * GpuLayout::warp + size_t(lane) * vector_length +
           component % vector_length;
  const int rest = components - whole;
  return size_t(whole) * GpuLayout::warp + size_t(lane) * rest + (component - whole);
}

}  // namespace trellis
