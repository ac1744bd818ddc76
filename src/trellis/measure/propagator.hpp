#pragma once
/// A quark propagator is S = M^-1 source: twelve columns (source spin and colour) in one field.
#include <optional>

#include "trellis/algebra/gamma.hpp"
#include "trellis/measure/source.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

class Propagator {
 public:
  static constexpr int columns_per_propagator = 12;

  /// @pre columns: full, 24 reals, 12 right-hand sides (column = 3 source spin + source colour), double or
  /// single
  Propagator(SpinorField columns, const Coord& source_at, const BoundaryPhases& boundary,
             SolveReport report = {}, std::string description = {});

  const SpinorField& columns() const { return columns_; }
  const LatticePtr& lattice_ptr() const { return columns_.lattice_ptr(); }
  const Lattice& lattice() const { return columns_.lattice(); }
  const Geometry& geometry() const { return columns_.geometry(); }
  Precision precision() const { return columns_.precision(); }
  /// Times and momenta count from these global coordinates.
  const Coord& source_at() const { return source_at_; }
  const BoundaryPhases& boundary() const { return boundary_; }
  /// Returns the report of its solves; residuals are |b - M x| / |b| of each column.
  const SolveReport& report() const { return report_; }
  const std::string& description() const { return description_; }
  size_t bytes() const { return columns_.bytes(); }

  /// Writes this rank's part in the order [t, z, y, x][sink spin][source spin][sink colour][source colour],
  /// 144 numbers a site.
  void to_canonical(std::complex<double>* out) const;
  static Propagator from_canonical(const LatticePtr& lattice, const std::complex<double>* in,
                                   const Coord& source_at, const BoundaryPhases& boundary,
                                   Precision precision = Precision::double_precision);
  static size_t canonical_size(const Geometry& geometry) { return size_t(geometry.local_volume()) * 144; }

  /// Returns the same propagator in another storage.
  Propagator converted(Precision precision) const;
  /// Returns the same on another backend: contractions take propagators that lie on one.
  Propagator on(Backend backend) const;
  /// Returns Gamma S: the spin matrix acts at the sink.
  Propagator multiplied(const GammaMatrix& gamma) const;

 private:
  SpinorField columns_;
  Coord source_at_;
  BoundaryPhases boundary_;
  SolveReport report_;
  std::string description_;
};

/// Returns Gamma psi: the spin matrix acts on every column.
SpinorField spin_multiplied(const SpinorField& psi, const GammaMatrix& gamma);

/// Solves for all twelve columns in one batched solve. `guess` is the first guess, zero without one. A missed
/// tolerance is no error: it is in the report. Collective.
/// @pre matrix in double (the solver's inner precision is the spec's business); source and guess on its
/// lattice
Propagator solve_propagator(const WilsonMatrixPtr& matrix, const SolverSpec& solver, const Source& source,
                            const Propagator* guess = nullptr);

/// Returns the source Gamma S, whose propagator is sum_z S(x, z) Gamma S(z, source) (Feynman-Hellmann).
Source propagator_as_source(const Propagator& S, const GammaMatrix& gamma);

/// Returns the propagator with its sink smeared on every time slice (gaussian_smearing.hpp). @pre S in double
Propagator sink_smeared(const Propagator& S, const GaugeField& links, const GaussianSmearing& smearing);

/// Return the bytes per rank of a propagator, and of a solve at its peak: source, solution, even-odd fields
/// and `work_fields` vectors of the solver with their residuals (the operator itself is not counted).
size_t propagator_bytes(const Geometry& geometry, Precision precision = Precision::double_precision);
size_t propagator_solve_bytes(const Geometry& geometry, bool is_even_odd = true, int work_fields = 6);

/// Returns the sum over space, spins and colours of |S|^2 for each time after the source, which is the pion
/// at zero momentum, unless twisted.
std::vector<double> propagator_norm(const Propagator& S);

}  // namespace trellis
