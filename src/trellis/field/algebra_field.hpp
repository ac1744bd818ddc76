#pragma once
/// A link has one element of su(3), sum_a p_a T_a, as 8 components: forces, momenta, generators of the flow.
/// It has the same blocks, lanes and precision as the gauge field, and no halo.
#include <array>

#include "trellis/field/gauge_field.hpp"

namespace trellis {

class AlgebraField {
 public:
  /// Makes a zero field that is laid out as U is.
  explicit AlgebraField(const GaugeField& U);

  const Lattice& lattice() const { return *lattice_; }
  const ExtendedLayout& layout() const { return *layout_; }
  int lanes() const { return layout_->lanes(); }
  Backend backend() const { return tables_->backend(); }
  Precision precision() const { return precision_; }
  const GaugeTables& site_tables() const { return *tables_; }
  bool is_stored_like(const AlgebraField& other) const {
    return tables_ == other.tables_ && precision_ == other.precision_;
  }
  /// Returns whether kernels can take it together with the links of U.
  bool is_stored_like(const GaugeField& U) const {
    return tables_->layout()->lanes() == U.lanes() && lattice_->geometry() == U.geometry() &&
           backend() == U.backend() && precision_ == U.precision();
  }
  void set_zero();

  /// Takes local coordinates (slow: for tests and set-up).
  std::array<double, 8> components(const Coord& local, int mu) const;
  void set_components(const Coord& local, int mu, const std::array<double, 8>& p);

  /// Writes the local part in the order [site, x fastest][mu][component]: 32 doubles a site.
  void to_canonical(double* out) const;
  void from_canonical(const double* in);

  /// Returns the array [block][mu][8][lane].
  RawField raw() const;

 private:
  size_t offset_on_gpu(const Coord& local, int mu, int component) const;
  template <class Real>
  Real* element(const Coord& local, int mu) const;
  LatticePtr lattice_;
  ExtendedLayoutPtr layout_;
  GaugeTablesPtr tables_;
  Precision precision_;
  Memory memory_;
};

/// Returns the sum over links of sum_a p_a q_a = -2 tr(P Q); collective, exact. @pre double precision
double dot(const AlgebraField& p, const AlgebraField& q);

}  // namespace trellis
