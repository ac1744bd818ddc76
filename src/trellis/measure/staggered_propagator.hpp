#pragma once
/// A propagator of staggered quarks is S = M^-1 source: three columns of colour vectors, one for each colour
/// of the source.
#include <vector>

#include "trellis/measure/source.hpp"
#include "trellis/measure/staggered_masses.hpp"
#include "trellis/measure/time_slice_sums.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

class StaggeredPropagator {
 public:
  static constexpr int columns_per_propagator = 3;

  /// @pre columns: full, colour vectors, 3 right-hand sides, in double
  StaggeredPropagator(SpinorField columns, const Coord& source_at, const BoundaryPhases& boundary,
                      SolveReport report = {}, std::string description = {});

  const SpinorField& columns() const { return columns_; }
  const LatticePtr& lattice_ptr() const { return columns_.lattice_ptr(); }
  const Lattice& lattice() const { return columns_.lattice(); }
  const Geometry& geometry() const { return columns_.geometry(); }
  /// Times and momenta count from these global coordinates.
  const Coord& source_at() const { return source_at_; }
  const BoundaryPhases& boundary() const { return boundary_; }
  /// Returns the report of its solve; residuals are |b - M x| / |b| of each column.
  const SolveReport& report() const { return report_; }
  const std::string& description() const { return description_; }
  size_t bytes() const { return columns_.bytes(); }

  /// Writes this rank's part in the order [t, z, y, x][sink colour][source colour], 9 numbers a site.
  void to_canonical(std::complex<double>* out) const;
  static StaggeredPropagator from_canonical(const LatticePtr& lattice, const std::complex<double>* in,
                                            const Coord& source_at, const BoundaryPhases& boundary);
  static size_t canonical_size(const Geometry& geometry) { return size_t(geometry.local_volume()) * 9; }
  /// Returns the same on another backend: contractions take propagators that lie on one.
  StaggeredPropagator on(Backend backend) const;

 private:
  SpinorField columns_;
  Coord source_at_;
  BoundaryPhases boundary_;
  SolveReport report_;
  std::string description_;
};

/// Solves for one mass, that of the matrix, by any solver, which starts at `guess`. A missed tolerance is no
/// error: it is in the report. Collective. @pre the source has colour vectors and lies on the matrix's
/// lattice
StaggeredPropagator solve_staggered_propagator(const StaggeredMatrixPtr& matrix, const SolverSpec& solver,
                                               const Source& source,
                                               const StaggeredPropagator* guess = nullptr);

/// Solves for all masses in one multi-shift solve (staggered_masses.hpp). Each propagator's report is that of
/// the whole solve, with the residuals of its own mass. Collective.
std::vector<StaggeredPropagator> solve_staggered_propagators(const StaggeredMatrix& matrix,
                                                             const std::vector<double>& masses,
                                                             const Source& source,
                                                             const MultiShiftSpec& spec);

/// Returns the propagator with its sink smeared on every time slice (two_hop_smearing.hpp).
StaggeredPropagator sink_smeared(const StaggeredPropagator& S, const GaugeField& links,
                                 const GaussianSmearing& smearing);

/// A time slice has mesons of eight local operators (doc/operators/staggered_mesons.md): row n has the sign
/// (-1)^(n.(x - x_src)), n = (row, row / 2, row / 4) mod 2, in
///
///   C_n(p, t) = sum_x exp(-i p.(x - x_src)) (-1)^(n.(x - x_src)) tr[ S_quark(x) S_antiquark(x)^dagger ]
///
/// The bits are the same for every process grid, thread count and lane count. Collective.
/// @pre both propagators have the same lattice, layout and source site
inline constexpr int local_staggered_mesons = 8;
CorrelatorTable local_meson_correlators(const StaggeredPropagator& quark,
                                        const StaggeredPropagator& antiquark,
                                        const Momenta& momenta = zero_momentum);

/// Returns the bytes per rank that the contraction needs beside the propagators.
size_t local_meson_bytes(const Geometry& geometry, int momenta);

}  // namespace trellis
