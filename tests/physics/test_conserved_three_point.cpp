// timeout: 600
/// Three-point functions of conserved currents with a fixed sink are, for each time of the current, the
/// Feynman-Hellmann correlator with the current there; the charge is conserved between source and sink. The
/// quarks are Wilson-clover, Shamir and anisotropic Moebius domain wall.
#include <gtest/gtest.h>

#include "tests/support/five_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/measure/conserved_three_point.hpp"
#include "trellis/measure/three_point.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_conserved_three_point {

const Coord extents{2, 4, 2, 6}, at{1, 3, 0, 2};
const SolverSpec accurate = EvenOddSpec{CgSpec{.tolerance = 1e-12, .max_iterations = 5000}};
const BoundaryPhases antiperiodic{1.0, 1.0, 1.0, -1.0}, dirichlet{1.0, 1.0, 1.0, 0.0};

GaugeField links() { return test::to_product(make_lattice(extents), test::random_gauge(extents, 82, 0.5)); }

/// This class is one kind of quark, solved for from a point source.
class Quark {
 public:
  virtual ~Quark() = default;
  virtual const Propagator& S() const = 0;
  /// Returns S with the current inserted.
  virtual Propagator inserted(CurrentKind kind, const LinkWeights& weights) const = 0;
  virtual CorrelatorTable three_point(const Source& sink, const ConservedInsertion& current,
                                      const Momenta& transfers) const = 0;
};

class WilsonQuark : public Quark {
 public:
  explicit WilsonQuark(const BoundaryPhases& boundary)
      : U_{links()}, matrix_{matrix(U_, boundary)}, S_{solve(point_source(U_.lattice_ptr(), at))} {}
  const Propagator& S() const override { return S_; }
  Propagator inserted(CurrentKind, const LinkWeights& weights) const override {
    return solve(conserved_current_source(S_, ConservedCurrent(U_, S_.boundary(), weights)));
  }
  CorrelatorTable three_point(const Source& sink, const ConservedInsertion& current,
                              const Momenta& transfers) const override {
    return conserved_three_point(U_, matrix_->params(), solve(sink), S_, {current.mu}, transfers);
  }

 private:
  static WilsonMatrixPtr matrix(const GaugeField& U, const BoundaryPhases& boundary) {
    WilsonParams p;
    p.mass = 0.4;
    p.csw_spatial = p.csw_temporal = 1.0;
    p.boundary = boundary;
    return std::make_shared<WilsonMatrix>(U, p, KernelChoice{});
  }
  Propagator solve(const Source& b) const { return solve_propagator(matrix_, accurate, b); }

  GaugeField U_;
  WilsonMatrixPtr matrix_;
  Propagator S_;
};

class DomainWallQuark : public Quark {
 public:
  DomainWallQuark(double b5, double c5, double nu, const BoundaryPhases& boundary)
      : matrix_{matrix(b5, c5, nu, boundary)},
        source_{point_source(matrix_->links().lattice_ptr(), at)},
        S_{solve_domain_wall(matrix_, how_, source_)} {}
  const Propagator& S() const override { return S_.quark; }
  Propagator inserted(CurrentKind kind, const LinkWeights& weights) const override {
    return conserved_current_propagator(matrix_, how_, S_, source_, weights, kind).quark;
  }
  CorrelatorTable three_point(const Source& sink, const ConservedInsertion& current,
                              const Momenta& transfers) const override {
    const DomainWallPropagator Y = solve_domain_wall(matrix_, how_, sink);
    return conserved_three_point(matrix_, {Y, sink}, {S_, source_}, {current}, transfers);
  }

 private:
  static DomainWallMatrixPtr matrix(double b5, double c5, double nu, const BoundaryPhases& boundary) {
    DomainWallParams p = test::moebius(0.4, 4, b5, c5);
    p.nu = nu;
    p.boundary = boundary;
    return std::make_shared<DomainWallMatrix>(links(), p);
  }
  const DomainWallSolve how_{accurate, 6, true};
  DomainWallMatrixPtr matrix_;
  Source source_;
  DomainWallPropagator S_;
};

struct Named {
  std::string name;
  std::unique_ptr<Quark> quark;
  bool has_axial;
};

std::vector<Named> all(const BoundaryPhases& boundary) {
  std::vector<Named> quarks;
  quarks.push_back({"wilson", std::make_unique<WilsonQuark>(boundary), false});
  quarks.push_back({"shamir", std::make_unique<DomainWallQuark>(1.0, 0.0, 1.0, boundary), true});
  quarks.push_back({"anisotropic moebius", std::make_unique<DomainWallQuark>(1.5, 0.5, 0.7, boundary), true});
  return quarks;
}

CorrelatorTable nucleon(const Propagator& S, const SpinMatrix& P, const Momentum& p = {0, 0, 0},
                        const Insertion* insertion = nullptr) {
  return octet_correlators({&S, &S, nullptr}, {"proton"}, {P}, {p}, octet_diquark(), insertion);
}

std::array<double, 2> line(Flavour flavour) {
  return flavour == Flavour::up ? std::array{1.0, 0.0} : std::array{0.0, 1.0};
}

/// Checks that C3(t, tau) is N(t) with the current on the links from tau, for each tau; N(t) of all links is
/// the sum.
void expect_feynman_hellmann(const Named& of, const ConservedInsertion& current, const Momentum& q,
                             Flavour flavour, int separation) {
  const bool is_axial = current.kind == CurrentKind::axial;
  const SpinMatrix P = is_axial ? polarised_projector(1) : parity_projector(1);
  const Propagator& S = of.quark->S();
  // There is a transfer beside q: one does not see the other.
  const CorrelatorTable C3 = of.quark->three_point(
      nucleon_sequential_source(S, {separation, line(flavour), P, q}), current, {{1, 0, 1}, q});
  std::complex<double> sum = 0;
  double scale = 0;
  for (int tau = 0; tau < extents[3]; ++tau) {
    sum += C3.at(0, 1, tau);
    scale += std::abs(C3.at(0, 1, tau));
  }
  EXPECT_GT(scale, 1e-6 * std::abs(nucleon(S, parity_projector(1)).at(0, 0, separation)));
  const auto N = [&](std::optional<int> time) {
    const Propagator F = of.quark->inserted(current.kind, current_weights(current.mu, q, at, extents, time));
    const Insertion insertion{flavour, &F};
    return nucleon(S, P, q, &insertion).at(0, 0, separation);
  };
  const std::string what = message(of.name, is_axial ? " axial " : " vector ", current.mu,
                                   ", t = ", separation, flavour == Flavour::up ? " UU" : " DD");
  EXPECT_LT(std::abs(sum - N({})), 1e-10 * scale) << what;
  for (const int tau : {separation - 1, 5})
    EXPECT_LT(std::abs(C3.at(0, 1, tau) - N((at[3] + tau) % extents[3])), 1e-10 * scale)
        << what << ", tau = " << tau;
}

TEST(ConservedThreePoint, is_the_feynman_hellmann_correlator_of_each_time) {
  const Momentum rest{0, 0, 0}, moving{0, 1, 0};
  for (const Named& of : all(antiperiodic)) {
    expect_feynman_hellmann(of, {CurrentKind::vector, 3}, rest, Flavour::up, 3);
    expect_feynman_hellmann(of, {CurrentKind::vector, 3}, moving, Flavour::down, 2);
    expect_feynman_hellmann(of, {CurrentKind::vector, 1}, moving, Flavour::up, 5);  // the sink wraps around
    if (!of.has_axial) continue;
    expect_feynman_hellmann(of, {CurrentKind::axial, 2}, rest, Flavour::up, 3);
    expect_feynman_hellmann(of, {CurrentKind::axial, 2}, rest, Flavour::down, 5);
    expect_feynman_hellmann(of, {CurrentKind::axial, 3}, moving, Flavour::up, 2);
  }
}

TEST(ConservedThreePoint, charge_is_conserved_between_source_and_sink) {
  // The charge flows from the link behind the source to that before the sink; with Dirichlet time there is
  // none elsewhere, with antiperiodic time what goes around the lattice is the same everywhere.
  for (const BoundaryPhases& boundary : {antiperiodic, dirichlet})
    for (const Named& of : all(boundary)) {
      const Propagator& S = of.quark->S();
      const CorrelatorTable C = nucleon(S, parity_projector(1));
      for (const Flavour flavour : {Flavour::up, Flavour::down}) {
        const int separation = 3;
        const CorrelatorTable C3 = of.quark->three_point(
            nucleon_sequential_source(S, {separation, line(flavour), parity_projector(1)}),
            {CurrentKind::vector, 3}, zero_momentum);
        const std::complex<double> expected = (flavour == Flavour::up ? 2.0 : 1.0) * C.at(0, 0, separation);
        const std::complex<double> around = C3.at(0, 0, 4);
        if (boundary[3] == 0.0)
          EXPECT_LT(std::abs(around), 1e-10 * std::abs(expected)) << of.name;
        else
          EXPECT_GT(std::abs(around), 1e-8 * std::abs(expected)) << of.name;
        for (int tau = 0; tau < extents[3]; ++tau)
          EXPECT_LT(std::abs(C3.at(0, 0, tau) - around - (tau < separation ? expected : 0.0)),
                    1e-10 * std::abs(expected))
              << of.name << ", tau = " << tau << ": " << C3.at(0, 0, tau) << " for " << expected;
      }
    }
}

TEST(ConservedThreePoint, mistakes_are_refused) {
  const GaugeField U = links();
  const Source source = point_source(U.lattice_ptr(), at);
  const Source other = point_source(U.lattice_ptr(), {0, 0, 0, 0});
  const CgSpec loose{.tolerance = 1e-2};
  const auto matrix = std::make_shared<DomainWallMatrix>(U, test::moebius(0.5, 3, 1.5, 0.5));
  const DomainWallSolve how{EvenOddSpec{loose}, 12, true};
  const DomainWallPropagator S = solve_domain_wall(matrix, how, source);
  const DomainWallPropagator elsewhere = solve_domain_wall(matrix, how, other);
  const DomainWallPropagator without = solve_domain_wall(matrix, {EvenOddSpec{loose}, 12, false}, source);
  const std::vector<ConservedInsertion> V4{{CurrentKind::vector, 3}};
  EXPECT_NO_THROW(conserved_three_point(matrix, {S, source}, {S, source}, V4));
  EXPECT_THROW(conserved_three_point(matrix, {without, source}, {S, source}, V4), BadArgument);
  EXPECT_THROW(conserved_three_point(matrix, {S, source}, {without, source}, V4), BadArgument);
  EXPECT_THROW(conserved_three_point(matrix, {elsewhere, other}, {S, source}, V4), BadArgument);
  EXPECT_THROW(conserved_three_point(matrix, {S, source}, {S, source}, {{CurrentKind::axial, 3}}),
               BadArgument);  // Ls is odd
  EXPECT_THROW(conserved_three_point(matrix, {S, source}, {S, source}, {{CurrentKind::vector, 4}}),
               BadArgument);
  DomainWallParams slices = test::moebius(0.5, 3, 1.5, 0.5);
  slices.b5 = {1.5, 1.4, 1.5};
  const auto per_slice = std::make_shared<DomainWallMatrix>(U, slices);
  EXPECT_THROW(conserved_three_point(per_slice, {S, source}, {S, source}, V4), BadArgument);
  EXPECT_THROW(conserved_three_point(U, {}, S.quark, elsewhere.quark, {3}), BadArgument);
  EXPECT_THROW(conserved_three_point(U, {}, S.quark, S.quark, {-1}), BadArgument);
}

}  // namespace in_test_conserved_three_point
}  // namespace trellis
