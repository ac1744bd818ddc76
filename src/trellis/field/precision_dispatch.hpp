#pragma once
/// These functions lead from a field to the instantiation of a kernel that exists in double and single only:
/// contractions, sources and other work beside the solves.
#include "trellis/field/storage/dispatch.hpp"

namespace trellis {

/// Calls f.operator()<Layout, Storage>(), Storage double or float. Throws NotAvailable for 16-bit fields.
template <class F>
void dispatch_unquantised(Backend backend, Precision precision, int lanes, F&& f) {
  if (is_16_bit(precision))
    throw NotAvailable(message("this kernel works on fields in double or single, not in ", name_of(precision),
                               ": convert the field"));
  dispatch(backend, precision, lanes, [&]<class Layout, class Storage>() {
    if constexpr (std::is_same_v<Storage, typename StorageTraits<Storage>::compute>)
      f.template operator()<Layout, Storage>();
  });
}

/// Does the same for kernels that exist in double only.
template <class F>
void dispatch_double(Backend backend, int lanes, F&& f) {
  dispatch(backend, Precision::double_precision, lanes, [&]<class Layout, class Storage>() {
    if constexpr (std::is_same_v<Storage, double>) f.template operator()<Layout, Storage>();
  });
}

}  // namespace trellis
