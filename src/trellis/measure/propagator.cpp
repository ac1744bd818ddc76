#include "trellis/measure/propagator.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/kernels/contract/propagator_sites.hpp"
#include "trellis/measure/positions.hpp"
#include "trellis/measure/time_slice_sums.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

namespace {
/// Returns the offset in [sink spin][source spin][sink colour][source colour].
size_t canonical_offset(int sink, int sink_colour, int column) {
  return size_t(((sink * 4 + column / 3) * 3 + sink_colour) * 3 + column % 3);
}

/// Copies: out = in, which may be of another storage.
void set_from(SpinorField& out, const SpinorField& in) {
  if (out.spec() == in.spec())
    copy(out, in);
  else
    convert(out, in);
}

SpinorField spinor_columns(const LatticePtr& lattice, Precision precision) {
  FieldSpec spec;
  spec.precision = precision;
  spec.rhs = Propagator::columns_per_propagator;
  return SpinorField(lattice, spec);
}
}  // namespace

SpinorField spin_multiplied(const SpinorField& in, const GammaMatrix& gamma) {
  SpinorField out = SpinorField::like(in);
  for (int parity = first_parity(in.subset()); parity <= last_parity(in.subset()); ++parity) {
    const SpinMultiplyCall call{in.raw(parity), out.raw(parity), to_sparse(gamma), in.slots()};
    dispatch_unquantised(in.spec().backend, in.precision(), in.layout().lanes(),
                         [&]<class Layout, class Storage>() {
                           launch_spin_multiply<Layout, Storage>(call, SiteRange(in.layout().blocks()));
                         });
  }
  return out;
}

Propagator::Propagator(SpinorField columns, const Coord& source_at, const BoundaryPhases& boundary,
                       SolveReport report, std::string description)
    : columns_{std::move(columns)},
      source_at_{source_at},
      boundary_{boundary},
      report_{std::move(report)},
      description_{std::move(description)} {
  TRELLIS_REQUIRE(columns_.subset() == Subset::full && columns_.reals() == 24 &&
                      columns_.rhs() == Propagator::columns_per_propagator,
                  "a propagator is a full spinor field with 12 right-hand sides, not ", columns_.reals(),
                  " reals a site and ", columns_.rhs(), " right-hand sides");
  TRELLIS_REQUIRE(!is_16_bit(columns_.precision()), "propagators are kept in double or single");
}

void Propagator::to_canonical(std::complex<double>* out) const {
  on_host(columns_, [&](const SpinorField& columns) {
    for_each_position(columns, [&](const SitePosition& at, size_t site) {
      for (int column = 0; column < Propagator::columns_per_propagator; ++column) {
        std::complex<double> psi[12];
        columns.get_site(at, column, reinterpret_cast<double*>(psi));
        for (int i = 0; i < 12; ++i) out[site * 144 + canonical_offset(i / 3, i % 3, column)] = psi[i];
      }
    });
  });
}

Propagator Propagator::from_canonical(const LatticePtr& lattice, const std::complex<double>* in,
                                      const Coord& source_at, const BoundaryPhases& boundary,
                                      Precision precision) {
  SpinorField columns = spinor_columns(lattice, precision);
  for_each_position(columns, [&](const SitePosition& at, size_t site) {
    for (int column = 0; column < Propagator::columns_per_propagator; ++column) {
      std::complex<double> psi[12];
      for (int i = 0; i < 12; ++i) psi[i] = in[site * 144 + canonical_offset(i / 3, i % 3, column)];
      columns.set_site(at, column, reinterpret_cast<const double*>(psi));
    }
  });
  return Propagator(std::move(columns), source_at, boundary);
}

Propagator Propagator::converted(Precision precision) const {
  SpinorField columns = spinor_columns(lattice_ptr(), precision);
  convert(columns, columns_);
  return Propagator(std::move(columns), source_at_, boundary_, report_, description_);
}

Propagator Propagator::on(Backend backend) const {
  FieldSpec spec = columns_.spec();
  spec.backend = backend;
  spec.lanes = 0;
  SpinorField columns(lattice_ptr(), spec);
  convert(columns, columns_);
  return Propagator(std::move(columns), source_at_, boundary_, report_, description_);
}

Propagator Propagator::multiplied(const GammaMatrix& gamma) const {
  return Propagator(spin_multiplied(columns_, gamma), source_at_, boundary_, report_, description_);
}

Propagator solve_propagator(const WilsonMatrixPtr& matrix, const SolverSpec& solver, const Source& source,
                            const Propagator* guess) {
  TRELLIS_REQUIRE(
      matrix->choice().precision == Precision::double_precision,
      "propagators are solved with an operator in double (its inner precision is part of the solver)");
  TRELLIS_REQUIRE(kind_of(source) == SourceKind::spinor, "a quark with spin needs a source of spinors");
  TRELLIS_REQUIRE(source.columns.lattice_ptr() == matrix->hop().lattice_ptr(),
                  "source and operator live on different lattices");
  TRELLIS_REQUIRE(!guess || guess->lattice_ptr() == matrix->hop().lattice_ptr(),
                  "guess and operator live on different lattices");
  SpinorField b = matrix->hop().make_field(Subset::full, source.columns.rhs()), x = SpinorField::like(b);
  set_from(b, source.columns);
  if (guess) set_from(x, guess->columns());
  SolveReport report = solve(solver, WilsonOperator(matrix), x, b);
  return Propagator(std::move(x), source.at, matrix->params().boundary, std::move(report),
                    source.description);
}

Source propagator_as_source(const Propagator& S, const GammaMatrix& gamma) {
  SpinorField columns = spin_multiplied(S.columns(), gamma);
  if (columns.precision() != Precision::double_precision) {
    FieldSpec spec = columns.spec();
    spec.precision = Precision::double_precision;
    spec.lanes = 0;
    SpinorField in_double(S.lattice_ptr(), spec);
    convert(in_double, columns);
    columns = std::move(in_double);
  }
  return {std::move(columns), S.source_at(), S.description() + ", sequential"};
}

Propagator sink_smeared(const Propagator& S, const GaugeField& links, const GaussianSmearing& smearing) {
  SpinorField columns = S.columns();
  smear_gaussian(columns, links, smearing);
  return Propagator(std::move(columns), S.source_at(), S.boundary(), S.report(),
                    S.description() + message(", sink smeared with width ", smearing.width, " in ",
                                              smearing.steps, " steps"));
}

size_t propagator_bytes(const Geometry& geometry, Precision precision) {
  return size_t(geometry.local_volume()) * Propagator::columns_per_propagator * 24 * element_bytes(precision);
}

/// An even-odd solve has b and x on all sites, source and solution of the Schur system and the solver's
/// vectors on half of them, and two more in the operator. A full one has the same on all sites.
size_t propagator_solve_bytes(const Geometry& geometry, bool is_even_odd, int work_fields) {
  const size_t full = propagator_bytes(geometry);
  return is_even_odd ? 3 * full + full / 2 * size_t(4 + work_fields) : full * size_t(4 + work_fields);
}

std::vector<double> propagator_norm(const Propagator& S) {
  const SpinorField& columns = S.columns();
  const auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    const NormProductsCall call{columns.raw(parity), columns.slots(), out, blocks.begin};
    dispatch_unquantised(
        columns.spec().backend, columns.precision(), columns.layout().lanes(),
        [&]<class Layout, class Storage>() { launch_norm_products<Layout, Storage>(call, blocks); });
  };
  const CorrelatorTable norms = time_slice_sums(columns, 1, zero_momentum, S.source_at(), write);
  std::vector<double> result;
  for (const std::complex<double>& norm : norms.values) result.push_back(norm.real());
  return result;
}

}  // namespace trellis
