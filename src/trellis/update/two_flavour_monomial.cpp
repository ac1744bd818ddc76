#include "trellis/update/two_flavour_monomial.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

namespace {
constexpr uint32_t draws_per_monomial = 4;
}  // namespace

TwoFlavourMonomial::TwoFlavourMonomial(std::string name, SmearedLinksPtr links, SquaredOperatorPtr fermion,
                                       const TwoFlavourParams& params)
    : FermionMonomial{std::move(name), std::move(links)}, fermion_{std::move(fermion)}, params_{params} {
  TRELLIS_REQUIRE(params.shift >= 0 && std::isfinite(params.shift), "Hasenbusch shift ", params.shift);
  TRELLIS_REQUIRE(!params.numerator || *params.numerator > params.shift,
                  "Hasenbusch shifts: ", params.numerator.value_or(0), " is not above ", params.shift);
}

/// Solves by the factors of A + shift where it has a solver for them, else by conjugate gradients.
SolveReport TwoFlavourMonomial::run_solver(SpinorField& x, double shift, const SpinorField& b,
                                           double tolerance) {
  if (const auto report = fermion_->solve_by_factors(x, b, {tolerance, time(), &solve_count(), shift}))
    return *report;
  const MixedPrecisionSpec spec{CgSpec{tolerance, params_.max_iterations}, Precision::single_precision};
  const LinearOperatorPtr A = fermion_->op(), inner = fermion_->converted_op(Precision::single_precision);
  set_zero(x);
  OperatorCopies system(shift == 0 ? A : std::make_shared<ShiftedOperator>(A, shift));
  system.provide(shift == 0 ? inner : std::make_shared<ShiftedOperator>(inner, shift));
  return trellis::solve(spec, system, x, b);
}

void TwoFlavourMonomial::solve(SpinorField& x, double shift, const SpinorField& b, double tolerance) {
  const PartTimer timer(costs()[Part::solver]);
  const SolveReport report = run_solver(x, shift, b, tolerance);
  costs()[Part::solver].flops += report.cost.flops;
  costs()[Part::solver].bytes += report.cost.bytes;
  ++solve_count().solves;
  solve_count().iterations += report.iterations;
  solve_count().largest_residual = std::max(solve_count().largest_residual, report.largest_residual());
  require_solved(*this, report, tolerance, std::to_string(params_.max_iterations));
}

void TwoFlavourMonomial::refresh(const GaugeField& U, const TrajectoryKey& key) {
  const GaugeField& V = links()->at(U);  // this comes before version()
  fermion_->set_links(V, links()->version());
  fermion_->begin_trajectory();
  set_time(0);
  const LinearOperator& A = *fermion_->op();
  const LinearOperator& S = fermion_->root();
  SpinorField eta = A.make_field(), phi = A.make_field(), work = A.make_field();
  const double s = params_.shift, t = params_.numerator.value_or(0);
  const uint32_t first = draws_per_monomial * params_.id;
  auto add = [&](double factor, uint32_t number) {
    set_normal(eta, key, first + number);
    combine(phi, 1.0, phi, factor, eta);
  };
  set_normal(eta, key, first);
  S.apply_dagger(phi, eta);
  if (!params_.numerator) {
    if (s > 0) add(std::sqrt(s), 1);
  } else {
    scale(phi, std::sqrt(s + t), phi);
    set_normal(eta, key, first + 1);
    A.apply(work, eta);
    combine(phi, 1.0, phi, 1.0, work);
    if (s > 0) add(std::sqrt(s * t), 2);
    copy(work, phi);
    solve(phi, t, work, params_.metropolis_tolerance);
  }
  phi_ = std::make_unique<SpinorField>(std::move(phi));
}

double TwoFlavourMonomial::action(const GaugeField& U) {
  TRELLIS_REQUIRE(phi_ != nullptr, "monomial ", name(), " has no pseudofermions yet");
  const GaugeField& V = links()->at(U);  // this comes before version()
  fermion_->set_links(V, links()->version());
  SpinorField x = SpinorField::like(*phi_);
  solve(x, params_.shift, *phi_, params_.metropolis_tolerance);
  const PartTimer timer(costs()[Part::action]);
  const double inverse = dot(*phi_, x).real();
  return params_.numerator ? norm2(*phi_) + (*params_.numerator - params_.shift) * inverse : inverse;
}

void TwoFlavourMonomial::add_derivative(LinkDerivative& G, const GaugeField& V, double coefficient) {
  TRELLIS_REQUIRE(phi_ != nullptr, "monomial ", name(), " has no pseudofermions yet");
  fermion_->set_links(V, links()->version());
  std::vector<SpinorField> x;
  if (params_.dynamics_precision == Precision::single_precision) {
    const RationalFunction shifts{0, {1}, {params_.shift}};
    solve_shifts(x, *fermion_,
                 {shifts, params_.dynamics_tolerance, params_.max_iterations, Precision::single_precision},
                 *phi_, *this);
  } else {
    x.push_back(SpinorField::like(*phi_));
    solve(x[0], params_.shift, *phi_, params_.dynamics_tolerance);
  }
  const PartTimer timer(costs()[Part::fermion_force]);
  const double factor = params_.numerator ? *params_.numerator - params_.shift : 1.0;
  fermion_->add_derivative(G, {&x[0]}, {-coefficient * factor});
  costs()[Part::fermion_force].flops += fermion_->derivative_flops(1);
  costs()[Part::fermion_force].bytes += fermion_->derivative_bytes(1);
}

}  // namespace trellis
