#pragma once
/// The backends have these memory layouts. A layout says how many sites a kernel computes at once (lanes) and
/// where real number `component` of a site lies; kernels never see it.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trellis/base/annotations.hpp"

namespace trellis {

/// The layout of CPUs is [block][slot][component][lane], or [slot][block]... for the links of hops, whose
/// directions are streams of their own; a "site" of a kernel is a block of W lattice sites. In 16-bit fixed
/// point components lie in pairs, [component / 2][lane][component % 2].
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

/// The layout of GPUs has one thread per site, sites in groups of 32 (a warp), and 16-byte loads:
/// [group][slot][component / G][site % 32][component % G], G = 16 / sizeof(real). What is left over of the
/// components forms narrower vectors, of G / 2, G / 4 ... 1 of them, each where its bit of the number is set.
struct GpuLayout {
  static constexpr int lanes = 1;
  static constexpr int warp = 32;
};

/// This is the GPU layout on a real GPU (GpuLayout itself names its emulation on the host).
struct CudaLayout : GpuLayout {};

/// One stored element has so many reals (G of the GPU layout).
template <class Element>
inline constexpr int gpu_vector_length = 16 / int(sizeof(Element));

/// These components of a site lie side by side in the GPU layout; one load or store moves them.
struct GpuVector {
  int first, length;
};
/// Returns the vector of a component: it has 16 bytes of them, or a half, a quarter ... of what is left over.
TRELLIS_SITE_FN constexpr GpuVector gpu_vector_of(int component, int components, int vector_length) {
  int first = components - components % vector_length;
  if (component < first) return {component - component % vector_length, vector_length};
  int length = vector_length / 2;
  for (; length > 1; length /= 2) {
    if ((components & length) == 0) continue;
    if (component < first + length) break;
    first += length;
  }
  return {first, length};
}

/// Returns the offset of a component in the GPU layout, in elements, counted from the (group, slot) origin.
TRELLIS_SITE_FN constexpr size_t gpu_component_offset(int component, int components, int lane,
                                                      int vector_length) {
  const GpuVector v = gpu_vector_of(component, components, vector_length);
  return size_t(v.first) * GpuLayout::warp + size_t(lane) * v.length + (component - v.first);
}

}  // namespace trellis
