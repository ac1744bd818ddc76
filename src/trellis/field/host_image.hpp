#pragma once
/// Work on single sites, which only the host does: on a field itself, or on an image of one that lies on a
/// GPU.
#include <utility>

#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// f(field) for reading sites.
template <class F>
decltype(auto) read_on_host(const SpinorField& field, F&& f) {
  if (field.spec().backend != Backend::cuda) return f(field);
  const SpinorField image = field.host_copy();
  return f(image);
}

/// f(field) for reading and writing sites; what it wrote is in the field afterwards.
template <class F>
void edit_on_host(SpinorField& field, F&& f) {
  if (field.spec().backend != Backend::cuda) return f(field);
  SpinorField image = field.host_copy();
  f(image);
  field.copy_from_host(image);
}

}  // namespace trellis
