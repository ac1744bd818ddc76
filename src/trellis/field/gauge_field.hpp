#pragma once
/// The gauge configuration has links U_mu(x), of 18 reals, with the halo that loops need, in the memory of
/// the host or of a GPU. It is in double precision, but for the copies that forces in single precision are
/// computed from (field/single_precision.hpp): the kernels of forces and stout smearing take those, others
/// refuse them.
#include <array>
#include <complex>

#include "trellis/device/memory.hpp"
#include "trellis/field/lattice.hpp"
#include "trellis/view/gauge_view.hpp"

namespace trellis {

/// A link is a row-major 3x3 matrix.
using Link = std::array<std::complex<double>, 9>;

class GaugeField {
 public:
  /// Makes unit links. With lanes = 0 they have this build's vector width (a GPU has one lane). `halo` is its
  /// width where ranks split the lattice. `backend` is cpu or cuda, and `precision` is double or, on the CPU,
  /// single.
  explicit GaugeField(LatticePtr lattice, int lanes = 0, int halo = halo_width, Backend backend = {},
                      Precision precision = Precision::double_precision);
  /// Makes unit links in the storage of another field.
  static GaugeField like(const GaugeField& U);
  /// Makes a field of zeros in the storage of another one.
  static GaugeField zeros_like(const GaugeField& U);
  /// Makes a field in the storage of another one whose owner writes all links before any is read.
  static GaugeField unset_like(const GaugeField& U);
  /// Returns the same links on another backend.
  GaugeField on(Backend backend, int lanes = 0) const;
  GaugeField(const GaugeField& other);
  GaugeField& operator=(const GaugeField& other);
  GaugeField(GaugeField&&) = default;
  GaugeField& operator=(GaugeField&&) = default;

  const Lattice& lattice() const { return *lattice_; }
  const LatticePtr& lattice_ptr() const { return lattice_; }
  const Geometry& geometry() const { return lattice_->geometry(); }
  const ExtendedLayout& layout() const { return *layout_; }
  int lanes() const { return layout_->lanes(); }
  Backend backend() const { return tables_->backend(); }
  Precision precision() const { return precision_; }
  const GaugeTables& site_tables() const { return *tables_; }
  /// Returns whether kernels can take both fields together.
  bool is_stored_like(const GaugeField& other) const {
    return tables_ == other.tables_ && precision_ == other.precision_;
  }

  /// Take links by local coordinates (slow: for set-up, tests and files).
  Link link(const Coord& local, int mu) const;
  void set_link(const Coord& local, int mu, const Link& U);

  /// Writes the local part in the order [site, x fastest][mu][row][column][re, im]: 72 doubles a site.
  void to_canonical(double* out) const;
  void from_canonical(const double* in);
  size_t canonical_size() const { return size_t(geometry().local_volume()) * 72; }

  /// Brings the halo up to date, at least to `layers`, if a write came since (collective). Loops call it.
  void update_halo(int layers = halo_width) const;
  void halo_is_stale() { valid_layers_ = 0; }
  void set_zero();
  /// Exchanges just the links of U_mu on the sites of one parity, after a kernel rewrote them and nothing
  /// else. One layer is valid then (collective). @pre one layer was valid before
  void update_halo_of(int mu, int parity);

  /// Returns the array [block][mu][18][lane], or that of the GPU's layout; callers that write through it call
  /// halo_is_stale().
  RawField raw() const;
  ExtendedTables tables() const;

  static constexpr int halo_width = 2;  ///< all fields that kernels combine have it; a Naik term asks for 3

 private:
  /// The links are made of memory that is zero, or has anything in it.
  struct Zeros {
    LatticePtr lattice;
    int lanes, halo;
    Backend backend;
    Precision precision;
    bool is_zeroed = true;
  };
  explicit GaugeField(Zeros storage);
  void set_unit();
  template <class Real>
  Real* element(int block, int lane, int mu) const;
  size_t offset_on_gpu(int block, int mu, int real) const;
  void exchange(const GaugeTables::HaloPart& part) const;
  LatticePtr lattice_;
  ExtendedLayoutPtr layout_;
  GaugeTablesPtr tables_;
  Precision precision_ = Precision::double_precision;
  Memory memory_;
  mutable int valid_layers_ = 0;
};

}  // namespace trellis
