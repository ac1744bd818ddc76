#include "trellis/field/storage/site_field.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
SiteLayoutPtr layout_for(const Lattice& lattice, const FieldSpec& spec) {
  return lattice.layout(lanes_of_launches(spec.backend, spec.precision, spec.lanes));
}
}  // namespace

SiteField::SiteField(LatticePtr lattice, FieldSpec spec) : SiteField(std::move(lattice), spec, true) {}

SiteField::SiteField(LatticePtr lattice, FieldSpec spec, bool is_zeroed)
    : lattice_{std::move(lattice)}, spec_{spec}, layout_{layout_for(*lattice_, spec)} {
  TRELLIS_REQUIRE(spec.rhs >= 1, "a field needs at least one right-hand side, not ", spec.rhs);
  TRELLIS_REQUIRE(spec.slices >= 1, "a field needs at least one slice, not ", spec.slices);
  TRELLIS_REQUIRE(spec.reals >= 1, "a field needs at least one real a site, not ", spec.reals);
  storage_ = {spec.precision, spec.backend, layout_->lanes(), layout_->blocks(), slots(), spec.reals};
  const size_t bytes = storage_.bytes() * (spec.subset == Subset::full ? 2 : 1);
  memory_ = is_zeroed ? Memory(bytes, spec.backend) : Memory::to_be_written(bytes, spec.backend);
}

SiteField::SiteField(const SiteField& other) : SiteField(other.lattice_, other.spec_, false) {
  memory_.copy_from(other.memory_);
}

SiteField SiteField::host_copy() const {
  TRELLIS_REQUIRE(spec_.backend == Backend::cuda, "host_copy is for fields on a GPU");
  FieldSpec spec = spec_;
  spec.backend = Backend::gpu_emulated;
  SiteField host(lattice_, spec);
  memory_.copy_to_host(host.memory_.data(), memory_.bytes());
  return host;
}

void SiteField::copy_from_host(const SiteField& host) {
  TRELLIS_REQUIRE(spec_.backend == Backend::cuda && host.spec_.backend == Backend::gpu_emulated &&
                      host.bytes() == bytes(),
                  "copy_from_host: the host field is not the image of this one");
  memory_.copy_from_host(host.memory_.data(), memory_.bytes());
}

SiteField& SiteField::operator=(const SiteField& other) {
  if (this != &other) *this = SiteField(other);
  return *this;
}

int64_t SiteField::sites() const {
  const int64_t volume = lattice_->volume();  // it is odd where all extents are 1: the site is even
  if (spec_.subset == Subset::full) return volume;
  return spec_.subset == Subset::even ? (volume + 1) / 2 : volume / 2;
}

char* SiteField::data(int parity) const {
  TRELLIS_REQUIRE(parity >= first_parity(spec_.subset) && parity <= last_parity(spec_.subset),
                  "the field has no sites of parity ", parity);
  const int index = spec_.subset == Subset::full ? parity : 0;
  return const_cast<char*>(static_cast<const char*>(memory_.data())) + size_t(index) * storage_.bytes();
}

RawField SiteField::raw(int parity) const { return storage_.raw(data(parity)); }

BlockStream SiteField::stream(int parity) const {
  return {data(parity), size_t(slots()) * size_t(storage_.stored_reals()) * size_t(layout_->lanes()) *
                            element_bytes(spec_.precision)};
}

void SiteField::require_host_memory() const {
  if (spec_.backend == Backend::cuda)
    throw NotAvailable(
        "sites of a field on a GPU are read and written through an image (field/storage/on_host.hpp)");
}

double SiteField::get(const SitePosition& at, int slot, int component) const {
  return storage_.get(data(at.parity), at.block, at.lane, slot, component);
}

void SiteField::get_site(const SitePosition& at, int slot, double* reals) const {
  require_host_memory();
  for (int i = 0; i < spec_.reals; ++i) reals[i] = get(at, slot, i);
}

void SiteField::set_site(const SitePosition& at, int slot, const double* reals) {
  require_host_memory();
  storage_.set(data(at.parity), at.block, at.lane, slot, reals);
}

namespace {
/// Calls f(position, canonical site index) for all local sites of the subset.
template <class F>
void for_each_position(const SiteLayout& layout, Subset subset, const F& f) {
  for (int parity = first_parity(subset); parity <= last_parity(subset); ++parity)
    for_each_index(layout.blocks(parity), [&](int block) {
      for (int lane = 0; lane < layout.lanes(); ++lane) {
        const SitePosition at{parity, block, lane};
        f(at, site_index(layout.coord(at), layout.geometry().local()));
      }
    });
}
}  // namespace

void SiteField::to_canonical(double* out, int slot) const {
  if (spec_.backend == Backend::cuda) return host_copy().to_canonical(out, slot);
  for_each_position(*layout_, spec_.subset, [&](const SitePosition& at, int64_t site) {
    get_site(at, slot, out + site * spec_.reals);
  });
}

void SiteField::from_canonical(const double* in, int slot) {
  if (spec_.backend == Backend::cuda) {
    SiteField host = host_copy();
    host.from_canonical(in, slot);
    return copy_from_host(host);
  }
  for_each_position(*layout_, spec_.subset, [&](const SitePosition& at, int64_t site) {
    set_site(at, slot, in + site * spec_.reals);
  });
}

}  // namespace trellis
