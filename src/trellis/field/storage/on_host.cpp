#include "trellis/field/storage/on_host.hpp"

#include <atomic>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
std::atomic<int64_t> transfers{0}, transferred_bytes{0};

void count_transfer(size_t bytes) {
  ++transfers;
  transferred_bytes += int64_t(bytes);
}

size_t link_bytes(const Lattice& lattice) { return size_t(lattice.geometry().local_volume()) * 72 * 8; }
}  // namespace

HostTransfers host_transfers() { return {transfers, transferred_bytes}; }

namespace detail {
bool is_on_host(const Memory& memory) { return memory.backend() != Backend::cuda; }
bool is_on_host(const SpinorField& field) { return field.spec().backend != Backend::cuda; }
bool is_on_host(const GaugeField& U) { return U.backend() != Backend::cuda; }

Memory image_on_host(const Memory& memory) {
  count_transfer(memory.bytes());
  Memory image(memory.bytes());
  memory.copy_to_host(image.data(), image.bytes());
  return image;
}

SpinorField image_on_host(const SpinorField& field) {
  count_transfer(field.bytes());
  return field.host_copy();
}

GaugeField image_on_host(const GaugeField& U) {
  count_transfer(link_bytes(U.lattice()));
  return U.on(Backend::cpu);
}

void copy_back(SpinorField& field, const SpinorField& image) {
  count_transfer(field.bytes());
  field.copy_from_host(image);
}
}  // namespace detail

void require_readable(const Memory& memory, const char* text) {
  if (!detail::is_on_host(memory)) throw NotAvailable(text);
}

void require_host(Backend backend, const char* text) { TRELLIS_REQUIRE(backend == Backend::cpu, text); }

}  // namespace trellis
