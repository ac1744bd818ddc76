#include "trellis/field/storage/site_storage.hpp"

#include "trellis/view/site_elements.hpp"

namespace trellis {

namespace {
size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

template <class Element>
Element* at(void* memory, size_t offset) {
  return static_cast<Element*>(memory) + offset;
}
}  // namespace

int SiteStorage::stored_reals() const {
  return trellis::stored_reals(reals, backend == Backend::cpu && precision == Precision::half_precision);
}

int SiteStorage::stored_blocks() const {
  return backend == Backend::cpu ? blocks : int(round_up(size_t(blocks), GpuLayout::warp));
}

size_t SiteStorage::data_bytes() const {
  return round_up(size_t(stored_blocks()) * size_t(lanes) * size_t(slots) * size_t(stored_reals()) *
                      element_bytes(precision),
                  64);
}

size_t SiteStorage::scale_bytes() const {
  return round_up(size_t(stored_blocks()) * size_t(lanes) * size_t(slots) * trellis::scale_bytes(precision),
                  64);
}

RawField SiteStorage::raw(void* memory) const {
  const bool has_scales = trellis::scale_bytes(precision) > 0;
  return {memory, has_scales ? reinterpret_cast<float*>(static_cast<char*>(memory) + data_bytes()) : nullptr,
          slots};
}

size_t SiteStorage::element_offset(int block, int lane, int slot, int component) const {
  if (backend == Backend::cpu) {
    const size_t first = (size_t(block) * size_t(slots) + size_t(slot)) * size_t(stored_reals() * lanes);
    return first + (precision == Precision::half_precision
                        ? cpu_component_offset<int16_t>(component, lane, lanes)
                        : cpu_component_offset<float>(component, lane, lanes));
  }
  return (size_t(block / GpuLayout::warp) * size_t(slots) + size_t(slot)) * size_t(reals) * GpuLayout::warp +
         gpu_component_offset(component, reals, block % GpuLayout::warp, int(16 / element_bytes(precision)));
}

float* SiteStorage::scale(void* memory, int block, int lane, int slot) const {
  float* s = raw(memory).scale;
  if (backend == Backend::cpu)
    return s + (size_t(block) * size_t(slots) + size_t(slot)) * size_t(lanes) + lane;
  return s + (size_t(block / GpuLayout::warp) * size_t(slots) + size_t(slot)) * GpuLayout::warp +
         block % GpuLayout::warp;
}

double SiteStorage::get(const void* memory, int block, int lane, int slot, int component) const {
  void* p = const_cast<void*>(memory);
  const size_t offset = element_offset(block, lane, slot, component);
  switch (precision) {
    case Precision::double_precision:
      return *at<double>(p, offset);
    case Precision::single_precision:
      return *at<float>(p, offset);
    case Precision::fp16_precision:
      return float(*at<Float16>(p, offset));
    default:
      return (*scale(p, block, lane, slot) * (1.0f / site_full_scale(reals))) *
             float(*at<int16_t>(p, offset));
  }
}

void SiteStorage::set(void* memory, int block, int lane, int slot, const double* values) const {
  float inverse = 1;
  if (precision == Precision::half_precision) {
    float largest = 0;
    for (int i = 0; i < reals; ++i) largest = larger_magnitude(largest, float(values[i]));
    *scale(memory, block, lane, slot) = largest;
    inverse = site_full_scale(reals) / maximum(largest, 1e-37f);
  }
  for (int i = 0; i < reals; ++i) {
    const size_t offset = element_offset(block, lane, slot, i);
    switch (precision) {
      case Precision::double_precision:
        *at<double>(memory, offset) = values[i];
        break;
      case Precision::single_precision:
        *at<float>(memory, offset) = float(values[i]);
        break;
      case Precision::fp16_precision:
        *at<Float16>(memory, offset) = Float16(float(values[i]));
        break;
      case Precision::half_precision:
        store_fixed(at<int16_t>(memory, offset), inverse * float(values[i]));
    }
  }
}

}  // namespace trellis
