#include "trellis/field/spinor_field.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
constexpr int largest_site = 72;

SiteLayoutPtr layout_for(const Lattice& lattice, const FieldSpec& spec) {
  if (spec.backend != Backend::cpu) return lattice.layout(1);
  return lattice.layout(spec.lanes == 0 ? default_lanes(spec.precision) : spec.lanes);
}

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
}  // namespace

SpinorField::SpinorField(LatticePtr lattice, FieldSpec spec)
    : lattice_{std::move(lattice)}, spec_{spec}, layout_{layout_for(*lattice_, spec)} {
  TRELLIS_REQUIRE(spec.rhs >= 1, "a field needs at least one right-hand side, not ", spec.rhs);
  TRELLIS_REQUIRE(spec.slices >= 1, "a field needs at least one slice, not ", spec.slices);
  TRELLIS_REQUIRE(spec.reals == 24 || spec.reals == 6 || spec.reals == 72,
                  "a field has 24 reals a site (spinor), 6 (colour vector) or 72 (clover term), not ",
                  spec.reals);
  const size_t site_lanes = size_t(stored_blocks()) * layout_->lanes() * slots();
  data_bytes_ = round_up(site_lanes * spec.reals * element_bytes(spec.precision), 64);
  scale_bytes_ = round_up(site_lanes * trellis::scale_bytes(spec.precision), 64);
  const int parities = spec.subset == Subset::full ? 2 : 1;
  memory_ = Memory((data_bytes_ + scale_bytes_) * parities, spec.backend);
}

SpinorField::SpinorField(const SpinorField& other) : SpinorField(other.lattice_, other.spec_) {
  memory_.copy_from(other.memory_);
}

SpinorField SpinorField::host_copy() const {
  TRELLIS_REQUIRE(spec_.backend == Backend::cuda, "host_copy is for fields on a GPU");
  FieldSpec spec = spec_;
  spec.backend = Backend::gpu_emulated;
  SpinorField host(lattice_, spec);
  memory_.copy_to_host(host.memory_.data(), memory_.bytes());
  return host;
}

void SpinorField::copy_from_host(const SpinorField& host) {
  TRELLIS_REQUIRE(spec_.backend == Backend::cuda && host.spec_.backend == Backend::gpu_emulated &&
                      host.bytes() == bytes(),
                  "copy_from_host: the host field is not the image of this one");
  memory_.copy_from_host(host.memory_.data(), memory_.bytes());
}

SpinorField& SpinorField::operator=(const SpinorField& other) {
  if (this != &other) *this = SpinorField(other);
  return *this;
}

int64_t SpinorField::sites() const { return lattice_->volume() / (spec_.subset == Subset::full ? 1 : 2); }

int SpinorField::stored_blocks() const {
  return spec_.backend == Backend::cpu ? layout_->blocks()
                                       : int(round_up(layout_->blocks(), GpuLayout::warp));
}

char* SpinorField::data(int parity) const {
  TRELLIS_REQUIRE(parity >= first_parity(spec_.subset) && parity <= last_parity(spec_.subset),
                  "the field has no sites of parity ", parity);
  const int index = spec_.subset == Subset::full ? parity : 0;
  return const_cast<char*>(static_cast<const char*>(memory_.data())) + index * (data_bytes_ + scale_bytes_);
}

RawField SpinorField::raw(int parity) const {
  char* p = data(parity);
  return {p, scale_bytes_ > 0 ? reinterpret_cast<float*>(p + data_bytes_) : nullptr, slots()};
}

BlockStream SpinorField::stream(int parity) const {
  return {data(parity),
          size_t(slots()) * size_t(spec_.reals) * size_t(layout_->lanes()) * element_bytes(spec_.precision)};
}

size_t SpinorField::element_offset(int block, int lane, int slot, int component) const {
  const int n = spec_.reals, slots = this->slots();
  if (spec_.backend == Backend::cpu) {
    const int W = layout_->lanes();
    const size_t first = (size_t(block) * slots + slot) * size_t(n * W);
    return first + (spec_.precision == Precision::half_precision
                        ? cpu_component_offset<int16_t>(component, lane, W)
                        : cpu_component_offset<float>(component, lane, W));
  }
  return (size_t(block / GpuLayout::warp) * slots + slot) * n * GpuLayout::warp +
         gpu_component_offset(component, n, block % GpuLayout::warp,
                              int(16 / element_bytes(spec_.precision)));
}

float* SpinorField::scale(const SitePosition& at, int slot) const {
  float* s = reinterpret_cast<float*>(data(at.parity) + data_bytes_);
  if (spec_.backend == Backend::cpu)
    return s + (size_t(at.block) * slots() + slot) * layout_->lanes() + at.lane;
  return s + (size_t(at.block / GpuLayout::warp) * slots() + slot) * GpuLayout::warp +
         at.block % GpuLayout::warp;
}

void SpinorField::require_host_memory() const {
  if (spec_.backend == Backend::cuda)
    throw NotAvailable(
        "sites of a field on a GPU are read and written through an image (field/host_image.hpp)");
}

double SpinorField::get(const SitePosition& at, int slot, int component) const {
  const char* p =
      data(at.parity) + element_offset(at.block, at.lane, slot, component) * element_bytes(spec_.precision);
  switch (spec_.precision) {
    case Precision::double_precision:
      return *reinterpret_cast<const double*>(p);
    case Precision::single_precision:
      return *reinterpret_cast<const float*>(p);
    case Precision::fp16_precision:
      return float(*reinterpret_cast<const Float16*>(p));
    default:
      return (*scale(at, slot) * (1.0f / fixed_point_full_scale(spec_.reals))) *
             float(*reinterpret_cast<const int16_t*>(p));
  }
}

void SpinorField::get_site(const SitePosition& at, int slot, double* reals) const {
  require_host_memory();
  for (int i = 0; i < spec_.reals; ++i) reals[i] = get(at, slot, i);
}

void SpinorField::set_site(const SitePosition& at, int slot, const double* reals) {
  require_host_memory();
  char* base = data(at.parity);
  if (spec_.precision == Precision::double_precision) {
    for (int i = 0; i < spec_.reals; ++i)
      reinterpret_cast<double*>(base)[element_offset(at.block, at.lane, slot, i)] = reals[i];
    return;
  }
  if (spec_.precision == Precision::single_precision) {
    for (int i = 0; i < spec_.reals; ++i)
      reinterpret_cast<float*>(base)[element_offset(at.block, at.lane, slot, i)] = float(reals[i]);
    return;
  }
  if (spec_.precision == Precision::fp16_precision) {
    for (int i = 0; i < spec_.reals; ++i)
      reinterpret_cast<Float16*>(base)[element_offset(at.block, at.lane, slot, i)] = Float16(float(reals[i]));
    return;
  }
  float r[largest_site], largest = 0;
  for (int i = 0; i < spec_.reals; ++i) {
    r[i] = float(reals[i]);
    largest = larger_magnitude(largest, r[i]);
  }
  *scale(at, slot) = largest;
  const float inverse = fixed_point_full_scale(spec_.reals) / maximum(largest, 1e-37f);
  for (int i = 0; i < spec_.reals; ++i)
    store_fixed(reinterpret_cast<int16_t*>(base) + element_offset(at.block, at.lane, slot, i),
                inverse * r[i]);
}

namespace {
/// f(position, canonical site index) for all local sites of the subset.
template <class F>
void for_each_position(const SiteLayout& layout, Subset subset, const F& f) {
  for (int parity = first_parity(subset); parity <= last_parity(subset); ++parity)
    for_each_index(layout.blocks(), [&](int block) {
      for (int lane = 0; lane < layout.lanes(); ++lane) {
        const SitePosition at{parity, block, lane};
        f(at, site_index(layout.coord(at), layout.geometry().local()));
      }
    });
}
}  // namespace

void SpinorField::to_canonical(double* out, int slot) const {
  if (spec_.backend == Backend::cuda) return host_copy().to_canonical(out, slot);
  for_each_position(*layout_, spec_.subset, [&](const SitePosition& at, int64_t site) {
    get_site(at, slot, out + site * spec_.reals);
  });
}

void SpinorField::from_canonical(const double* in, int slot) {
  if (spec_.backend == Backend::cuda) {
    SpinorField host = host_copy();
    host.from_canonical(in, slot);
    return copy_from_host(host);
  }
  for_each_position(*layout_, spec_.subset, [&](const SitePosition& at, int64_t site) {
    set_site(at, slot, in + site * spec_.reals);
  });
}

}  // namespace trellis
