#include "trellis/measure/staggered.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/colour_products.hpp"
#include "trellis/measure/time_slice_sums.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

SpinorField staggered_noise(const StaggeredMatrix& matrix, const Noise& noise, int count) {
  TRELLIS_REQUIRE(count >= 1, "the number of noise vectors is ", count);
  TRELLIS_REQUIRE(noise.kind != NoiseKind::u1, "noise vectors of traces are those of Z2 or Z4");
  SpinorField field = matrix.hopping().make_field(Subset::full, count);
  set_trace_noise(field, noise);
  return field;
}

namespace {
/// Returns the sum of w(x + j mu) over the sites j = 0..distance-1 that a hop passes.
template <class Weight>
double weight_along(const Weight& w, Coord x, int mu, int distance, const Coord& L) {
  double sum = 0;
  for (int j = 0; j < distance; ++j) {
    sum += w(x, mu);
    x[mu] = (x[mu] + 1) % L[mu];
  }
  return sum;
}

/// Returns dM/ds for theta -> theta + s w: the factors of D times i w on forward and -i w on backward legs
/// (rotation: i, generator of a real chemical potential: 1), to the given order in s.
template <class Weight>
HopTables derivative_tables(const StaggeredHopping& hopping, const Weight& w, std::complex<double> unit,
                            int order) {
  const Coord L = hopping.lattice().extents();
  const auto factors = [&](int distance, double coefficient) {
    const HopFactors dirac = dirac_factors(hopping.phases(), L, distance, coefficient);
    const auto power = [w, L, distance, order](std::complex<double> z, const Coord& x, int mu) {
      std::complex<double> p = 1.0;
      for (int k = 0; k < order; ++k) p *= z * weight_along(w, x, mu, distance, L);
      return p;
    };
    return HopFactors{[=](const Coord& x, int mu) { return dirac.forward(x, mu) * power(unit, x, mu); },
                      [=](const Coord& y, int mu) { return dirac.backward(y, mu) * power(-unit, y, mu); }};
  };
  return hopping.make_tables(factors(1, 1.0), factors(3, hopping.links()->long_coefficient()));
}

void apply_derivative(const StaggeredHopping& hopping, const HopTables& tables, SpinorField& out,
                      const SpinorField& in) {
  for (int parity = 0; parity < 2; ++parity) hopping.apply(tables, out, parity, in, 0.5);
}
}  // namespace

StaggeredTraces staggered_traces(const StaggeredMatrixPtr& matrix, const SpinorField& columns,
                                 const TraceSpec& spec, const SolverSpec& solver) {
  TRELLIS_REQUIRE(columns.subset() == Subset::full && columns.precision() == Precision::double_precision,
                  "traces take full columns in double");
  const StaggeredHopping& hopping = matrix->hopping();
  const int Lt = hopping.lattice().extents()[3];
  const auto potential = [Lt](const Coord&, int mu) { return mu == 3 ? 1.0 / Lt : 0.0; };
  StaggeredTraces traces;
  SpinorField X = SpinorField::like(columns), MX = X;
  stop_together(columns.lattice().communicator());  // fields of many columns take their time
  traces.report = solve(solver, StaggeredOperator(matrix), X, columns);
  traces.inverse = dot_each(columns, X);
  const HopTables first = derivative_tables(hopping, potential, 1.0, 1);
  apply_derivative(hopping, first, MX, X);
  traces.density = dot_each(columns, MX);
  for (const int plane : spec.planes) {
    const Coord L = hopping.lattice().extents();
    const auto flux = [plane, L](const Coord& x, int mu) { return flux_weight(plane, L, x, mu); };
    SpinorField BX = SpinorField::like(columns);
    apply_derivative(hopping, derivative_tables(hopping, flux, {0.0, 1.0}, 1), BX, X);
    traces.magnetisation.push_back(dot_each(columns, BX));
  }
  if (!spec.has_curvature) return traces;
  SpinorField second = SpinorField::like(columns), Y = SpinorField::like(columns);
  apply_derivative(hopping, derivative_tables(hopping, potential, 1.0, 2), second, X);
  traces.curvature = dot_each(columns, second);
  traces.report.add(solve(solver, StaggeredOperator(matrix), Y, MX));
  apply_derivative(hopping, first, second, Y);
  const auto loop = dot_each(columns, second);
  for (size_t i = 0; i < loop.size(); ++i) traces.curvature[i] -= loop[i];
  return traces;
}

MassTraces staggered_mass_traces(const StaggeredMatrix& matrix, const std::vector<double>& masses,
                                 const Noise& noise, int count, const MultiShiftSpec& spec) {
  TRELLIS_REQUIRE(count >= 1, "the number of noise vectors is ", count);
  MassTraces traces;
  traces.inverse.resize(masses.size());
  std::vector<std::vector<double>> residuals(masses.size());
  for (int first = 0; first < count; first += noise_vectors_at_a_time) {
    const int batch = std::min(noise_vectors_at_a_time, count - first);
    Noise own = noise;
    own.index += uint32_t(first);
    const SpinorField columns = staggered_noise(matrix, own, batch);
    std::vector<SpinorField> x;
    const SolveReport report = solve_masses(matrix, masses, x, columns, spec);
    for (size_t k = 0; k < masses.size(); ++k) {
      const auto values = dot_each(columns, x[k]);
      traces.inverse[k].insert(traces.inverse[k].end(), values.begin(), values.end());
      const auto begin = report.relative_residual.begin() + std::ptrdiff_t(k) * batch;
      residuals[k].insert(residuals[k].end(), begin, begin + batch);
    }
    if (first == 0)
      traces.report = report;
    else
      traces.report.add_columns(report);
  }
  traces.report.relative_residual.clear();
  for (const auto& own : residuals)
    traces.report.relative_residual.insert(traces.report.relative_residual.end(), own.begin(), own.end());
  return traces;
}

GoldstonePion goldstone_pion(const StaggeredMatrixPtr& matrix, const Coord& source,
                             const SolverSpec& solver) {
  const Lattice& lattice = matrix->lattice();
  for (int mu = 0; mu < Nd; ++mu)
    TRELLIS_REQUIRE(source[mu] >= 0 && source[mu] < lattice.extents()[mu], "the source ", to_string(source),
                    " lies outside the lattice ", to_string(lattice.extents()));
  SpinorField b = matrix->hopping().make_field(Subset::full, Nc), x = SpinorField::like(b);
  convert(b, point_source(matrix->hopping().links()->lattice_ptr(), source, SourceKind::colour_vector,
                          b.spec().backend)
                 .columns);
  GoldstonePion pion;
  pion.report = solve(solver, StaggeredOperator(matrix), x, b);
  FieldSpec spec = x.spec();
  spec.precision = Precision::double_precision;
  spec.lanes = 0;
  SpinorField columns(x.lattice_ptr(), spec);
  convert(columns, x);
  const auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    const ColourProductsCall call{columns.raw(parity), columns.raw(parity), out, blocks.begin};
    dispatch_double(spec.backend, columns.layout().lanes(), [&]<class Layout, class Storage>() {
      launch_colour_products<Layout, Storage>(call, blocks);
    });
  };
  for (const std::complex<double>& sum : time_slice_sums(columns, 1, zero_momentum, source, write).values)
    pion.correlator.push_back(sum.real());
  return pion;
}

}  // namespace trellis
