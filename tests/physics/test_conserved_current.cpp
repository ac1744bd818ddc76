/// The divergence of the conserved vector current vanishes at each site away from source and sink; with
/// Dirichlet time the charge counts slices. The quarks are Wilson-clover, Shamir and anisotropic Moebius
/// domain wall.
#include <gtest/gtest.h>

#include "tests/support/five_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/measure/conserved_current.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_conserved_current {

const Coord extents{2, 2, 2, 6}, at{1, 0, 1, 2};
const SolverSpec accurate = EvenOddSpec{CgSpec{.tolerance = 1e-13, .max_iterations = 5000}};

/// This function gives S, and the propagator with the current inserted.
using Inserted = std::function<std::pair<Propagator, Propagator>(const BoundaryPhases&, const LinkWeights&)>;

GaugeField links() { return test::to_product(make_lattice(extents), test::random_gauge(extents, 81, 0.5)); }

std::pair<Propagator, Propagator> wilson(const BoundaryPhases& boundary, const LinkWeights& weights) {
  const GaugeField U = links();
  WilsonParams p;
  p.mass = 0.4;
  p.csw_spatial = p.csw_temporal = 1.0;
  p.boundary = boundary;
  const auto matrix = std::make_shared<WilsonMatrix>(U, p, KernelChoice{});
  const Propagator S = solve_propagator(matrix, accurate, point_source(U.lattice_ptr(), at));
  const ConservedCurrent current(U, boundary, weights);
  return {S, solve_propagator(matrix, accurate, conserved_current_source(S, current))};
}

Inserted domain_wall(double b5, double c5, double nu = 1.0) {
  return [=](const BoundaryPhases& boundary, const LinkWeights& weights) {
    const GaugeField U = links();
    DomainWallParams p = test::moebius(0.1, 4, b5, c5);
    p.boundary = boundary;
    p.nu = nu;
    const auto matrix = std::make_shared<DomainWallMatrix>(U, p);
    const DomainWallSolve how{accurate, 6, true};
    const Source source = point_source(U.lattice_ptr(), at);
    const DomainWallPropagator S = solve_domain_wall(matrix, how, source);
    return std::pair{S.quark, conserved_current_propagator(matrix, how, S, source, weights).quark};
  };
}

std::vector<std::pair<const char*, Inserted>> all() {
  return {
      {"wilson", wilson}, {"shamir", domain_wall(1, 0)}, {"anisotropic moebius", domain_wall(1.5, 0.5, 0.7)}};
}

/// Returns |F - expected| / |S| with expected(x) = factor(x) S(x).
double deviation(const Propagator& S, const Propagator& F,
                 const std::function<double(const Coord&)>& factor) {
  double difference = 0, scale = 0;
  for (int column = 0; column < 12; ++column) {
    const auto s = test::to_reference(S.columns(), column), f = test::to_reference(F.columns(), column);
    for (size_t site = 0; site < s.size(); ++site) {
      const double c = factor(site_coord(int64_t(site), extents));
      const auto d = reference::operator-(f[site], reference::operator*(Complex<double>{c, 0}, s[site]));
      difference += reference::norm2({d});
      scale += reference::norm2({s[site]});
    }
  }
  return std::sqrt(difference / scale);
}

TEST(ConservedCurrent, divergence_vanishes_away_from_source_and_sink) {
  // When it is inserted at y it leaves the contact term S(y, source) at the sink x = y, and nothing
  // elsewhere.
  const BoundaryPhases antiperiodic{1.0, 1.0, 1.0, -1.0};
  for (const auto& [name, inserted] : all())
    for (const Coord y : {Coord{0, 1, 1, 4}, Coord{1, 0, 1, 1}, Coord{0, 1, 1, 5}}) {
      const auto [S, F] = inserted(antiperiodic, divergence_weights(y, extents));
      EXPECT_LT(deviation(S, F, [&](const Coord& x) { return x == y ? 1.0 : 0.0; }), 1e-11) << name;
      EXPECT_GT(norm2(F.columns()), 1e-6) << name;
    }
}

TEST(ConservedCurrent, charge_counts_slices_with_dirichlet_time) {
  const BoundaryPhases dirichlet{1.0, 1.0, 1.0, 0.0};
  for (const auto& [name, inserted] : all()) {
    const auto [S, F] = inserted(dirichlet, charge_weights());
    EXPECT_LT(deviation(S, F, [](const Coord& x) { return double(x[3] - at[3]); }), 1e-11) << name;
    // Therefore UU = 2 t C and DD = t C.
    const BaryonQuarks quarks{&S, &S, nullptr};
    const CorrelatorTable C = octet_correlators(quarks, {"proton"}, {parity_projector(1)});
    for (const Flavour flavour : {Flavour::up, Flavour::down}) {
      const Insertion insertion{flavour, &F};
      const CorrelatorTable N = octet_correlators(quarks, {"proton"}, {parity_projector(1)}, zero_momentum,
                                                  octet_diquark(), &insertion);
      for (int t = 0; t < extents[3] - at[3]; ++t)
        EXPECT_LT(std::abs(N.at(0, 0, t) - (flavour == Flavour::up ? 2.0 : 1.0) * t * C.at(0, 0, t)),
                  1e-10 * std::abs(C.at(0, 0, t)))
            << name << " t = " << t;
    }
  }
}

TEST(ConservedCurrent, needs_the_five_dimensional_fields) {
  const GaugeField U = links();
  const auto matrix = std::make_shared<DomainWallMatrix>(U, test::moebius(0.1, 4, 1.5, 0.5));
  const Source source = point_source(U.lattice_ptr(), at);
  const DomainWallSolve how{EvenOddSpec{CgSpec{.tolerance = 1e-3}}, 12, false};
  const DomainWallPropagator S = solve_domain_wall(matrix, how, source);
  EXPECT_THROW(conserved_current_propagator(matrix, how, S, source, charge_weights()), BadArgument);
}

}  // namespace in_test_conserved_current
}  // namespace trellis
