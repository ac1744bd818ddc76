#pragma once
/// From a field to the instantiation of a kernel that exists for host memory only, in double or single:
/// contractions, sources and other work beside the solves.
#include "trellis/field/dispatch.hpp"

namespace trellis {

/// Calls f.operator()<Layout, Storage>(), Storage double or float. Throws NotAvailable for other fields.
template <class F>
void dispatch_host(Backend backend, Precision precision, int lanes, F&& f) {
  if (backend == Backend::cuda || precision == Precision::half_precision)
    throw NotAvailable(
        message("this kernel works on fields in host memory in double or single, not on backend ",
                name_of(backend), " in ", name_of(precision), ": convert the field"));
  dispatch(backend, precision, lanes, [&]<class Layout, class Storage>() {
    if constexpr (!std::is_same_v<Layout, CudaLayout> && !std::is_same_v<Storage, Half>)
      f.template operator()<Layout, Storage>();
  });
}

}  // namespace trellis
