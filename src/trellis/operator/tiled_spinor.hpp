#pragma once
/// Passes tile by tile write fields of the CPU backend in this form.
#include "trellis/device/cpu/walk/output_tiles.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis {

inline TiledField tiled(const SpinorField& field, int parity) {
  const size_t numbers = size_t(field.slots() * field.layout().lanes());
  return {field.raw(parity),
          numbers * size_t(field.reals()) * element_bytes(field.precision()),
          numbers * scale_bytes(field.precision()),
          field.layout().blocks(),
          &field.geometry(),
          name_of(field.precision())};
}

}  // namespace trellis
