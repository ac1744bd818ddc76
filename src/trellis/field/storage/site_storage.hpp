#pragma once
/// This says how the reals of sites lie in one array of memory, on the host's side: it has sizes, and single
/// sites by block and lane (kernels have views: view/site_array.hpp, view/site_elements.hpp).
#include "trellis/base/precision.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

struct SiteStorage {
  Precision precision = Precision::double_precision;
  Backend backend = Backend::cpu;
  int lanes = 1;   ///< a block has so many; GPU layouts have 1
  int blocks = 0;  ///< the site order counts so many
  int slots = 1;   ///< a site has so many objects
  int reals = 1;   ///< an object has so many

  /// Returns the reals of an object in memory: fixed point in the CPU layout keeps pairs.
  int stored_reals() const;
  /// Returns how many blocks lie in memory: in GPU layouts these are whole warps.
  int stored_blocks() const;
  /// Reals and scales take so many bytes, each a multiple of 64; scales follow reals.
  size_t data_bytes() const;
  size_t scale_bytes() const;
  size_t bytes() const { return data_bytes() + scale_bytes(); }

  /// Returns the array that begins at `memory`.
  RawField raw(void* memory) const;
  /// @pre the memory can be read on the host
  double get(const void* memory, int block, int lane, int slot, int component) const;
  /// Sets all reals of an object: 16-bit fixed point needs them together for its scale.
  void set(void* memory, int block, int lane, int slot, const double* values) const;

 private:
  size_t element_offset(int block, int lane, int slot, int component) const;
  float* scale(void* memory, int block, int lane, int slot) const;
};

}  // namespace trellis
