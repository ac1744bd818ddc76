#pragma once
/// Only the host does this work, on a field itself where the host reaches it, else on an image of it.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "trellis/field/gauge_field.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// This counts the images of fields that this process copied to the host, and those that it copied back.
struct HostTransfers {
  int64_t count = 0, bytes = 0;
};
HostTransfers host_transfers();

namespace detail {
bool is_on_host(const Memory& memory);
bool is_on_host(const SpinorField& field);
bool is_on_host(const GaugeField& U);
Memory image_on_host(const Memory& memory);
SpinorField image_on_host(const SpinorField& field);
GaugeField image_on_host(const GaugeField& U);
void copy_back(SpinorField& field, const SpinorField& image);
}  // namespace detail

/// Calls f(field) with a field, or memory, that the host can read, site by site. Where f does not take a
/// constant field, it may write, too, and what it wrote is in the field afterwards.
template <class Field, class F>
auto on_host(Field& field, F&& f) {
  using Constant = const std::remove_const_t<Field>;
  if constexpr (std::is_invocable_v<F, Constant&>) {
    Constant& read = field;
    if (detail::is_on_host(field)) return f(read);
    Constant image = detail::image_on_host(field);
    return f(image);
  } else {
    if (detail::is_on_host(field)) return f(field);
    auto image = detail::image_on_host(field);
    f(image);
    detail::copy_back(field, image);
  }
}

/// Throws NotAvailable with this text for memory that the host does not reach.
void require_readable(const Memory& memory, const char* text);
/// Throws BadArgument with this text for a backend whose memory the host does not reach.
void require_host(Backend backend, const char* text);

}  // namespace trellis
