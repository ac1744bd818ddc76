#pragma once
/// Fields have any number of reals at a site, on the whole lattice or on one parity, for one or many
/// right-hand sides, in any storage and backend. Spinors, colour vectors and clover terms are such fields
/// (field/spinor_field.hpp has their names).

#include "trellis/device/block_stream.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/field/lattice.hpp"
#include "trellis/field/storage/site_storage.hpp"

namespace trellis {

enum class Subset { even, odd, full };

inline int first_parity(Subset s) { return s == Subset::odd ? 1 : 0; }
inline int last_parity(Subset s) { return s == Subset::even ? 0 : 1; }
inline Subset subset_of(int parity) { return parity == 0 ? Subset::even : Subset::odd; }
inline Subset other(Subset s) {
  return s == Subset::full ? s : s == Subset::even ? Subset::odd : Subset::even;
}

struct FieldSpec {
  Precision precision = Precision::double_precision;
  Subset subset = Subset::full;
  int rhs = 1;
  int reals = 24;  ///< an object has so many: a spinor has 24, any number from 1 on is legal
  Backend backend = Backend::cpu;
  int lanes = 0;   ///< 0 takes the vector width of this build; GPU layouts always have 1
  int slices = 1;  ///< a fifth dimension has so many: a right-hand side is then `slices` objects a site

  bool operator==(const FieldSpec&) const = default;
};

class SiteField {
 public:
  /// Makes a zero field. @pre rhs, slices and reals at least 1
  SiteField(LatticePtr lattice, FieldSpec spec = {});
  SiteField(const SiteField& other);
  SiteField& operator=(const SiteField& other);
  SiteField(SiteField&&) = default;
  SiteField& operator=(SiteField&&) = default;

  /// Makes a zero field of the same kind.
  static SiteField like(const SiteField& other) { return SiteField(other.lattice_, other.spec_); }

  const LatticePtr& lattice_ptr() const { return lattice_; }
  const Lattice& lattice() const { return *lattice_; }
  const Geometry& geometry() const { return lattice_->geometry(); }
  const FieldSpec& spec() const { return spec_; }
  Precision precision() const { return spec_.precision; }
  Subset subset() const { return spec_.subset; }
  int rhs() const { return spec_.rhs; }
  int slices() const { return spec_.slices; }
  /// Returns the objects of a site: slot = rhs * slices() + slice. Element access and kernels count slots.
  int slots() const { return spec_.rhs * spec_.slices; }
  int reals() const { return spec_.reals; }
  /// Says how each of the field's arrays lies in memory.
  const SiteStorage& storage() const { return storage_; }
  const SiteLayout& layout() const { return *layout_; }
  const SiteLayoutPtr& layout_ptr() const { return layout_; }
  int64_t sites() const;  ///< counts those of all ranks, in this field's subset
  size_t bytes() const { return memory_.bytes(); }

  /// @pre the field has this parity
  RawField raw(int parity) const;
  /// Returns the array without scales. @pre the field has this parity and lies on the CPU
  BlockStream stream(int parity) const;

  /// Copy to the host in the GPU layout (of a field on a GPU), and back. Element access needs a host field.
  SiteField host_copy() const;
  void copy_from_host(const SiteField& host);
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }

  /// Returns one number: real `component` of a site (slow: set-up, tests, conversions). @pre not on a GPU
  double get(const SitePosition& at, int slot, int component) const;
  /// Sets all reals of a site (16-bit storage needs them together for its scale).
  void set_site(const SitePosition& at, int slot, const double* reals);
  void get_site(const SitePosition& at, int slot, double* reals) const;

  /// Write and read this rank's part of one slot in the order [site, x fastest][real], of spinors
  /// [spin][colour][re, im]; sites that the subset lacks are left alone (reading) or ignored (writing).
  void to_canonical(double* out, int slot = 0) const;
  void from_canonical(const double* in, int slot = 0);

 private:
  SiteField(LatticePtr lattice, FieldSpec spec, bool is_zeroed);
  void require_host_memory() const;
  char* data(int parity) const;
  LatticePtr lattice_;
  FieldSpec spec_;
  SiteLayoutPtr layout_;
  SiteStorage storage_;  // it is that of one parity
  Memory memory_;
};

}  // namespace trellis
