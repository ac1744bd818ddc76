#include "trellis/measure/staggered_propagator.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/kernels/contract/colour_products.hpp"
#include "trellis/measure/positions.hpp"
#include "trellis/measure/two_hop_smearing.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

namespace {
/// Returns the columns of a source in the storage of the operator's fields.
SpinorField right_hand_side(const StaggeredMatrix& matrix, const Source& source) {
  TRELLIS_REQUIRE(kind_of(source) == SourceKind::colour_vector,
                  "a staggered quark needs a source of colour vectors");
  TRELLIS_REQUIRE(source.columns.lattice_ptr() == matrix.hopping().links()->lattice_ptr(),
                  "source and operator live on different lattices");
  SpinorField b = matrix.hopping().make_field(Subset::full, source.columns.rhs());
  convert(b, source.columns);
  return b;
}
}  // namespace

StaggeredPropagator::StaggeredPropagator(SpinorField columns, const Coord& source_at,
                                         const BoundaryPhases& boundary, SolveReport report,
                                         std::string description)
    : columns_{std::move(columns)},
      source_at_{source_at},
      boundary_{boundary},
      report_{std::move(report)},
      description_{std::move(description)} {
  TRELLIS_REQUIRE(columns_.subset() == Subset::full && columns_.reals() == colour_vector_reals &&
                      columns_.rhs() == StaggeredPropagator::columns_per_propagator,
                  "a staggered propagator is a full field of colour vectors with 3 right-hand sides, not ",
                  columns_.reals(), " reals a site and ", columns_.rhs(), " right-hand sides");
  TRELLIS_REQUIRE(columns_.precision() == Precision::double_precision,
                  "staggered propagators are kept in double");
}

void StaggeredPropagator::to_canonical(std::complex<double>* out) const {
  on_host(columns_, [&](const SpinorField& columns) {
    for_each_position(columns, [&](const SitePosition& at, size_t site) {
      for (int source = 0; source < StaggeredPropagator::columns_per_propagator; ++source) {
        std::complex<double> vector[3];
        columns.get_site(at, source, reinterpret_cast<double*>(vector));
        for (int sink = 0; sink < 3; ++sink) out[site * 9 + size_t(3 * sink + source)] = vector[sink];
      }
    });
  });
}

StaggeredPropagator StaggeredPropagator::from_canonical(const LatticePtr& lattice,
                                                        const std::complex<double>* in,
                                                        const Coord& source_at,
                                                        const BoundaryPhases& boundary) {
  SpinorField columns = source_columns(lattice, SourceKind::colour_vector);
  for_each_position(columns, [&](const SitePosition& at, size_t site) {
    for (int source = 0; source < StaggeredPropagator::columns_per_propagator; ++source) {
      std::complex<double> vector[3];
      for (int sink = 0; sink < 3; ++sink) vector[sink] = in[site * 9 + size_t(3 * sink + source)];
      columns.set_site(at, source, reinterpret_cast<const double*>(vector));
    }
  });
  return StaggeredPropagator(std::move(columns), source_at, boundary);
}

StaggeredPropagator StaggeredPropagator::on(Backend backend) const {
  FieldSpec spec = columns_.spec();
  spec.backend = backend;
  spec.lanes = 0;
  SpinorField columns(lattice_ptr(), spec);
  convert(columns, columns_);
  return StaggeredPropagator(std::move(columns), source_at_, boundary_, report_, description_);
}

StaggeredPropagator solve_staggered_propagator(const StaggeredMatrixPtr& matrix, const SolverSpec& solver,
                                               const Source& source, const StaggeredPropagator* guess) {
  const SpinorField b = right_hand_side(*matrix, source);
  TRELLIS_REQUIRE(!guess || guess->lattice_ptr() == b.lattice_ptr(),
                  "guess and operator live on different lattices");
  SpinorField x = SpinorField::like(b);
  if (guess) convert(x, guess->columns());
  SolveReport report = solve(solver, StaggeredOperator(matrix), x, b);
  return StaggeredPropagator(std::move(x), source.at, matrix->phases().boundary, std::move(report),
                             source.description);
}

std::vector<StaggeredPropagator> solve_staggered_propagators(const StaggeredMatrix& matrix,
                                                             const std::vector<double>& masses,
                                                             const Source& source,
                                                             const MultiShiftSpec& spec) {
  const SpinorField b = right_hand_side(matrix, source);
  std::vector<SpinorField> x;
  const SolveReport all = solve_masses(matrix, masses, x, b, spec);
  std::vector<StaggeredPropagator> found;
  for (size_t k = 0; k < masses.size(); ++k) {
    SolveReport own = all;
    const auto first =
        all.relative_residual.begin() + std::ptrdiff_t(k) * StaggeredPropagator::columns_per_propagator;
    own.relative_residual.assign(first, first + StaggeredPropagator::columns_per_propagator);
    found.emplace_back(std::move(x[k]), source.at, matrix.phases().boundary, std::move(own),
                       source.description);
  }
  return found;
}

StaggeredPropagator sink_smeared(const StaggeredPropagator& S, const GaugeField& links,
                                 const GaussianSmearing& smearing) {
  SpinorField columns = S.columns();
  smear_two_hops(columns, links, smearing);
  return StaggeredPropagator(std::move(columns), S.source_at(), S.boundary(), S.report(),
                             S.description() + message(", sink smeared by two hops with width ",
                                                       smearing.width, " in ", smearing.steps, " steps"));
}

namespace {
/// Returns the momenta with the eight signs: (-1)^(n.x) is the phase of the momentum n L / 2.
Momenta with_signs(const Momenta& momenta, const Coord& L) {
  Momenta found;
  for (int row = 0; row < local_staggered_mesons; ++row)
    for (const Momentum& p : momenta) {
      Momentum shifted = p;
      for (size_t k = 0; k < 3; ++k) shifted[k] += (row >> k & 1) * L[k] / 2;
      found.push_back(shifted);
    }
  return found;
}
}  // namespace

CorrelatorTable local_meson_correlators(const StaggeredPropagator& quark,
                                        const StaggeredPropagator& antiquark, const Momenta& momenta) {
  const SpinorField &S = quark.columns(), &A = antiquark.columns();
  TRELLIS_REQUIRE(S.lattice_ptr() == A.lattice_ptr() && S.spec() == A.spec(),
                  "quark and antiquark propagator differ in lattice or storage");
  TRELLIS_REQUIRE(quark.source_at() == antiquark.source_at(),
                  "quark and antiquark propagator have different sources: ", to_string(quark.source_at()),
                  " and ", to_string(antiquark.source_at()));
  const auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    const ColourProductsCall call{S.raw(parity), A.raw(parity), out, blocks.begin};
    dispatch_double(S.spec().backend, S.layout().lanes(), [&]<class Layout, class Storage>() {
      launch_colour_products<Layout, Storage>(call, blocks);
    });
  };
  const Momenta phases = with_signs(momenta, quark.lattice().extents());
  const CorrelatorTable sums = time_slice_sums(S, 1, phases, quark.source_at(), write);
  CorrelatorTable found(local_staggered_mesons, int(momenta.size()), sums.times);
  found.values = sums.values;  // they are [1][row, momentum][time]
  return found;
}

size_t local_meson_bytes(const Geometry& geometry, int momenta) {
  return time_slice_sums_bytes(geometry, 1, local_staggered_mesons * momenta);
}

}  // namespace trellis
