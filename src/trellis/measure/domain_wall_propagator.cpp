#include "trellis/measure/domain_wall_propagator.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/on_device.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/kernels/contract/half_spinors.hpp"
#include "trellis/measure/axial_current.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

namespace {
/// Calls f(coordinates) for all local sites.
template <class F>
void for_each_local(const Geometry& g, const F& f) {
  for_each_index(int(g.local_volume()), [&](int site) { f(site_coord(site, g.local())); });
}

SpinorField four_dimensional(const DomainWallMatrix& matrix) {
  FieldSpec spec;
  spec.rhs = Propagator::columns_per_propagator;
  spec.backend = matrix.choice().backend;
  return SpinorField(matrix.hop().lattice_ptr(), spec);
}

/// Copies both chiralities of all right-hand sides by kernels where both fields lie on a GPU; returns false
/// where one does not. The calls need no fields yet.
bool copy_on_device(SpinorField& out, const SpinorField& in, HalfSpinorsCall upper, HalfSpinorsCall lower) {
  if (out.spec().backend != in.spec().backend) return false;
  lower.is_lower = true;
  return on_device(out.spec().backend, [&]<class Layout>() {
    for (HalfSpinorsCall half : {upper, lower})
      for (int parity = 0; parity < 2; ++parity) {
        half.from = in.raw(parity);
        half.to = out.raw(parity);
        launch_copy_half_spinors<Layout>(half, SiteRange(out.layout().blocks()));
      }
  });
}

}  // namespace

void set_walls(SpinorField& eta, const SpinorField& columns, int first) {
  const int Ls = eta.slices();
  set_zero(eta);
  HalfSpinorsCall upper;  // P_+ goes to the first slice
  upper.from_first = first;
  upper.to_stride = Ls;
  upper.rhs = eta.rhs();
  HalfSpinorsCall lower = upper;
  lower.to_first = Ls - 1;
  if (copy_on_device(eta, columns, upper, lower)) return;
  const auto fill = [&](SpinorField& walls, const SpinorField& in) {
    for_each_local(walls.geometry(), [&](const Coord& x) {
      const SitePosition from = in.layout().position(x), to = walls.layout().position(x);
      for (int r = 0; r < walls.rhs(); ++r) {
        double b[24], part[24] = {};
        in.get_site(from, first + r, b);
        std::copy(b, b + 12, part);  // P_+ takes spins 0 and 1
        walls.set_site(to, r * Ls, part);
        std::fill(part, part + 12, 0.0);
        std::copy(b + 12, b + 24, part + 12);
        walls.set_site(to, r * Ls + Ls - 1, part);
      }
    });
  };
  on_host(columns,
          [&](const SpinorField& in) { on_host(eta, [&](SpinorField& walls) { fill(walls, in); }); });
}

void set_wall_source(SpinorField& out, const DomainWallMatrix& matrix, const SpinorField& columns,
                     int first) {
  SpinorField eta = SpinorField::like(out);
  set_walls(eta, columns, first);
  matrix.apply_D_minus(out, eta);
}

void set_chiral_quark(SpinorField& out, int first, const SpinorField& psi, int slice_minus, int slice_plus) {
  const int Ls = psi.slices();
  HalfSpinorsCall upper;  // it takes P_+ of its slice
  upper.from_first = slice_plus;
  upper.from_stride = Ls;
  upper.to_first = first;
  upper.rhs = psi.rhs();
  HalfSpinorsCall lower = upper;
  lower.from_first = slice_minus;
  if (copy_on_device(out, psi, upper, lower)) return;
  const auto fill = [&](SpinorField& quark, const SpinorField& five) {
    for_each_local(quark.geometry(), [&](const Coord& x) {
      const SitePosition from = five.layout().position(x), to = quark.layout().position(x);
      for (int r = 0; r < five.rhs(); ++r) {
        double plus[24], minus[24];
        five.get_site(from, r * Ls + slice_plus, plus);
        five.get_site(from, r * Ls + slice_minus, minus);
        std::copy(plus, plus + 12, minus);
        quark.set_site(to, first + r, minus);
      }
    });
  };
  on_host(psi,
          [&](const SpinorField& five) { on_host(out, [&](SpinorField& quark) { fill(quark, five); }); });
}

namespace {
void require_guess(const DomainWallSolve& how, const DomainWallMatrixPtr& matrix) {
  if (!how.guess) return;
  const std::vector<SpinorField>& guess = *how.guess;
  const int Ls = matrix->params().Ls;
  TRELLIS_REQUIRE(int(guess.size()) * how.columns_per_solve == Propagator::columns_per_propagator,
                  "a guess in solves of ", how.columns_per_solve, " columns has ",
                  Propagator::columns_per_propagator / how.columns_per_solve, " fields, not ", guess.size());
  const LatticePtr& lattice = matrix->hop().lattice_ptr();
  for (const SpinorField& psi : guess) {
    TRELLIS_REQUIRE(psi.slices() == Ls, "a guess has the operator's Ls = ", Ls, ", not Ls = ", psi.slices());
    TRELLIS_REQUIRE(psi.lattice_ptr() == lattice, "a guess lives on the operator's lattice, ",
                    to_string(lattice->geometry().lattice()), " on its process grid, not on another one, ",
                    to_string(psi.geometry().lattice()));
  }
}

/// Solves for all columns: set_source(b, first) comes before each solve and use(psi, first) after it.
DomainWallPropagator solve_columns(const DomainWallMatrixPtr& matrix, const DomainWallSolve& how,
                                   const Coord& at, const std::string& description,
                                   const std::function<void(SpinorField& b, int first)>& set_source,
                                   const std::function<void(const SpinorField& psi, int first)>& use) {
  TRELLIS_REQUIRE(
      matrix->choice().precision == Precision::double_precision,
      "propagators are solved with an operator in double (its inner precision is part of the solver)");
  TRELLIS_REQUIRE(
      how.columns_per_solve >= 1 && Propagator::columns_per_propagator % how.columns_per_solve == 0,
      "columns per solve: ", how.columns_per_solve, " does not divide ", Propagator::columns_per_propagator);
  const int Ls = matrix->params().Ls, batch = how.columns_per_solve;
  require_guess(how, matrix);
  const auto D5 = std::make_shared<DomainWallOperator>(matrix);
  const OperatorCopies copies{LinearOperatorPtr(D5)};  // all solves share them
  SpinorField quark = four_dimensional(*matrix);
  std::optional<SpinorField> midpoint;
  if (Ls % 2 == 0) midpoint.emplace(SpinorField::like(quark));
  SolveReport report;
  std::vector<SpinorField> five;
  for (int first = 0; first < Propagator::columns_per_propagator; first += batch) {
    SpinorField b = D5->make_field(batch), psi = SpinorField::like(b);
    set_source(b, first);
    if (how.guess) copy(psi, (*how.guess)[size_t(first / batch)]);
    const SolveReport one = solve(how.solver, copies, psi, b);
    if (first == 0)
      report = one;
    else
      report.add_columns(one);
    set_chiral_quark(quark, first, psi, 0, Ls - 1);
    if (midpoint) set_chiral_quark(*midpoint, first, psi, Ls / 2, Ls / 2 - 1);
    if (use) use(psi, first);
    if (how.keeps_five) five.push_back(std::move(psi));
  }
  const auto& boundary = matrix->params().boundary;
  DomainWallPropagator S{
      Propagator(std::move(quark), at, boundary, report, description), std::nullopt, std::move(five), {}};
  if (midpoint) S.midpoint.emplace(std::move(*midpoint), at, boundary, report, description + ", midpoint");
  return S;
}
}  // namespace

DomainWallPropagator solve_domain_wall(const DomainWallMatrixPtr& matrix, const DomainWallSolve& how,
                                       const Source& source) {
  TRELLIS_REQUIRE(kind_of(source) == SourceKind::spinor, "a quark with spin needs a source of spinors");
  TRELLIS_REQUIRE(source.columns.lattice_ptr() == matrix->hop().lattice_ptr(),
                  "source and operator live on different lattices");
  std::optional<AxialCurrent> axial;
  if (how.measures_axial_current) axial.emplace(matrix);
  const auto set_source = [&](SpinorField& b, int first) {
    set_wall_source(b, *matrix, source.columns, first);
  };
  const auto use = [&](const SpinorField& psi, int first) {
    if (axial) axial->add(psi, source.columns, first);
  };
  DomainWallPropagator S = solve_columns(matrix, how, source.at, source.description, set_source, use);
  if (axial) S.axial_current = axial->correlator(source.at[3]);
  return S;
}

DomainWallPropagator solve_domain_wall(const DomainWallMatrixPtr& matrix, const DomainWallSolve& how,
                                       const Coord& at, const std::string& description,
                                       const std::function<void(SpinorField& b, int first)>& set_source) {
  TRELLIS_REQUIRE(!how.measures_axial_current,
                  "the axial current is measured with a source of four dimensions");
  return solve_columns(matrix, how, at, description, set_source, nullptr);
}

std::vector<double> residual_mass(const DomainWallPropagator& S) {
  TRELLIS_REQUIRE(S.midpoint.has_value(), "m_res needs an even Ls");
  const std::vector<double> pion = propagator_norm(S.quark), midpoint = propagator_norm(*S.midpoint);
  std::vector<double> m_res;
  for (size_t t = 0; t < pion.size(); ++t) m_res.push_back(midpoint[t] / pion[t]);
  return m_res;
}

/// Counts source, solution, source before D_- and the field of the residual on all sites, and the Schur
/// system on half of them.
size_t domain_wall_solve_bytes(const Geometry& geometry, int Ls, int columns_per_solve, int work_fields) {
  const size_t full = size_t(geometry.local_volume()) * 24 * sizeof(double) * size_t(Ls * columns_per_solve);
  return 5 * full + full / 2 * size_t(5 + work_fields) + 3 * propagator_bytes(geometry);
}

}  // namespace trellis
