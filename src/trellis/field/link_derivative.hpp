#pragma once
/// The derivative of a function S of the links is a complex 3x3 matrix G a link with
///
///   delta S = sum_{x,mu} Re tr( G_mu(x) delta U_mu(x) ),
///
/// where delta U is free (not only along the group). Chain rules (smearing) take and give such fields; the
/// end of the chain is the projection onto the algebra (gauge/force.hpp). The field has the same blocks,
/// lanes, halo and precision as the links.
#include "trellis/field/gauge_field.hpp"

namespace trellis {

class LinkDerivative {
 public:
  /// Makes a zero field that is laid out as U is.
  explicit LinkDerivative(const GaugeField& U);

  const Lattice& lattice() const { return storage_.lattice(); }
  const Geometry& geometry() const { return storage_.geometry(); }
  const ExtendedLayout& layout() const { return storage_.layout(); }
  int lanes() const { return storage_.lanes(); }
  Backend backend() const { return storage_.backend(); }
  Precision precision() const { return storage_.precision(); }
  bool is_stored_like(const GaugeField& U) const { return storage_.is_stored_like(U); }
  const GaugeTables& site_tables() const { return storage_.site_tables(); }
  void set_zero();

  /// Returns the matrix at local coordinates (slow: for tests).
  Link matrix(const Coord& local, int mu) const { return storage_.link(local, mu); }
  void set_matrix(const Coord& local, int mu, const Link& G) { storage_.set_link(local, mu, G); }

  /// Returns the array [block][mu][18][lane]; callers that write through it call halo_is_stale().
  RawField raw() const { return storage_.raw(); }
  ExtendedTables tables() const { return storage_.tables(); }
  /// Does what that of GaugeField does (collective).
  void update_halo(int layers = GaugeField::halo_width) const { storage_.update_halo(layers); }
  void halo_is_stale() { storage_.halo_is_stale(); }

 private:
  GaugeField storage_;
};

}  // namespace trellis
