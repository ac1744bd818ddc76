// timeout: 600
/// Feynman-Hellmann correlators are compared with lalibe's, the numerical derivative with respect to a
/// background current, and the sum of sequential-source three-point functions, for Wilson-clover and domain
/// wall.
#include <gtest/gtest.h>

#include "reference/baryons.hpp"
#include "reference/sources.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/five_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/measure/domain_wall_propagator.hpp"
#include "trellis/measure/three_point.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_feynman_hellmann {

using Correlator = std::vector<std::complex<double>>;
const SolverSpec accurate = EvenOddSpec{CgSpec{.tolerance = 1e-13, .max_iterations = 5000}};

WilsonMatrixPtr clover(const GaugeField& U, double mass, double csw) {
  WilsonParams p;
  p.mass = mass;
  p.csw_spatial = p.csw_temporal = csw;
  return std::make_shared<WilsonMatrix>(U, p, KernelChoice{});
}

TEST(FeynmanHellmann, V4_correlators_of_lalibe) {
  TRELLIS_NEEDS_DATA();
  const auto lattice = make_lattice({4, 4, 4, 8});
  const GaugeField U = test::to_product(lattice, test::field_A());
  const Source source = smeared(point_source(lattice, {0, 0, 0, 0}), U, {2.0, 5});
  const GammaMatrix V4 = gamma_mu(3);
  std::vector<Propagator> S, F;
  for (const double mass : {0.1, 0.2}) {
    const auto matrix = clover(U, mass, 1.17);
    S.push_back(solve_propagator(matrix, accurate, source));
    F.push_back(solve_propagator(matrix, accurate, propagator_as_source(S.back(), V4)));
  }
  const std::vector<BaryonState> states{{"proton", 1}, {"proton", -1}};
  for (const bool is_smeared : {false, true}) {
    if (is_smeared)
      for (auto* list : {&S, &F})
        for (Propagator& P : *list) P = sink_smeared(P, U, {2.0, 5});
    for (const int parity : {1, -1})
      for (const Flavour flavour : {Flavour::up, Flavour::down}) {
        const Insertion insertion{flavour, &F[flavour == Flavour::up ? 0 : 1]};
        // In lalibe's smeared-smeared UU the spectator is the u propagator too (seen by trying all).
        const bool has_light_spectator = is_smeared && flavour == Flavour::up;
        const BaryonQuarks quarks{&S[0], &S[has_light_spectator ? 0 : 1], nullptr};
        const CorrelatorTable N = projected_correlators(quarks, states, zero_momentum, parity, &insertion);
        for (int row = 0; row < 2; ++row) {
          const Correlator expected = test::read_hdf5_complex(
              test::data_file("lalibe/lalibe_fh_proton_V4.h5"),
              message("/", is_smeared ? "SS" : "PS", "/fh_proton", parity < 0 ? "_np" : "", "_V4_",
                      flavour == Flavour::up ? "UU" : "DD", row == 0 ? "/spin_up" : "/spin_dn",
                      "/x0_y0_z0_t0/px0_py0_pz0"));
          ASSERT_EQ(expected.size(), 8u);
          for (int t = 0; t < 8; ++t) {
            const double scale = std::abs(expected[size_t(t)]);
            EXPECT_LT(std::abs(N.at(row, 0, t) - expected[size_t(t)]), 1e-9 * scale)
                << "parity " << parity << " row " << row << " t = " << t << ": " << N.at(row, 0, t) << " for "
                << expected[size_t(t)];
          }
        }
      }
  }
}

/// With D -> D - lambda Gamma on the u or the d quark, N = (C(lambda) - C(-lambda)) / (2 lambda) +
/// O(lambda^2).
TEST(FeynmanHellmann, is_the_derivative_by_a_background_current) {
  const Coord extents{2, 2, 2, 4}, at{1, 0, 1, 2};
  const auto U = test::random_gauge(extents, 71, 0.6);
  const auto lattice = make_lattice(extents);
  const auto matrix = clover(test::to_product(lattice, U), 0.5, 1.0);
  const Propagator S = solve_propagator(matrix, accurate, point_source(lattice, at));
  const reference::WilsonOperator D(U, reference::wilson_clover(0.5, 1.0));
  const reference::Propagator source = reference::point_source(extents, at);
  const auto background = [&](const GammaMatrix& gamma, double lambda) {
    const auto M = [&](const reference::SpinorVector& v) {
      auto out = D.apply(v);
      reference::add_scaled(out, -lambda, reference::multiply(gamma, v));
      return out;
    };
    const auto M_dagger = [&](const reference::SpinorVector& v) {
      auto out = D.apply_dagger(v);
      reference::add_scaled(out, -lambda, reference::multiply(adjoint(gamma), v));
      return out;
    };
    reference::Propagator P = source;
    for (auto& column : P.columns) column = reference::solve(M, M_dagger, column, 1e-14).x;
    return P;
  };
  const reference::Propagator S0 = background(gamma_product(0), 0.0);
  reference::TwoPointOptions options;
  options.source_at = at;
  const auto C = [&](const reference::Propagator& u, const reference::Propagator& d) {
    return reference::octet_two_point(reference::DiquarkForm::full, 0, 1, reference::polarised_projector(),
                                      {u, d}, options);
  };
  const double lambda = 1e-4;
  for (const char* name : {"gamma_t", "gamma_z gamma5", "1", "sigma_xy"}) {
    const GammaMatrix gamma = gamma_by_name(name);
    const Propagator F = solve_propagator(matrix, accurate, propagator_as_source(S, gamma));
    const auto plus = background(gamma, lambda), minus = background(gamma, -lambda);
    for (const Flavour flavour : {Flavour::up, Flavour::down}) {
      const bool is_up = flavour == Flavour::up;
      const Insertion insertion{flavour, &F};
      const CorrelatorTable N = octet_correlators({&S, &S, nullptr}, {"proton"}, {polarised_projector(1)},
                                                  zero_momentum, octet_diquark(), &insertion);
      const auto up = is_up ? C(plus, S0) : C(S0, plus), down = is_up ? C(minus, S0) : C(S0, minus);
      double scale = 0;
      for (int t = 0; t < 4; ++t) scale = std::max(scale, std::abs(N.at(0, 0, t)));
      for (size_t t = 0; t < 4; ++t) {
        const auto derivative = (up[t] - down[t]) / (2 * lambda);
        // The third derivative contributes lambda^2, and rounding contributes 1e-15 / lambda.
        EXPECT_LT(std::abs(N.at(0, 0, int(t)) - derivative), 2e-7 * scale) << name << " t = " << t;
      }
    }
  }
}

/// Checks that N(t) = sum_tau C3(t, tau) for each t and current, with momenta.
void expect_sum_of_three_points(const Propagator& S, const std::function<Propagator(const Source&)>& solve) {
  const std::vector<const char*> names{"gamma_t", "gamma_z gamma5", "1", "sigma_xz"};
  std::vector<GammaMatrix> currents;
  for (const char* name : names) currents.push_back(gamma_by_name(name));
  const int Lt = S.geometry().lattice()[3];
  for (const Momentum q : {Momentum{0, 0, 0}, Momentum{0, 1, 0}}) {
    std::vector<Propagator> F;
    for (const GammaMatrix& gamma : currents)
      F.push_back(solve(with_momentum(propagator_as_source(S, gamma), q)));
    for (const Flavour flavour : {Flavour::up, Flavour::down}) {
      const SpinMatrix P = q[1] == 0 ? parity_projector(1) : polarised_projector(1);
      for (int t = 0; t < Lt; ++t) {
        const bool is_up = flavour == Flavour::up;
        const Propagator Y =
            solve(nucleon_sequential_source(S, {t, {is_up ? 1.0 : 0.0, is_up ? 0.0 : 1.0}, P, q}));
        const CorrelatorTable C3 = nucleon_three_point(Y, S, currents, {q});
        for (size_t i = 0; i < currents.size(); ++i) {
          const Insertion insertion{flavour, &F[i]};
          const CorrelatorTable N =
              octet_correlators({&S, &S, nullptr}, {"proton"}, {P}, {q}, octet_diquark(), &insertion);
          std::complex<double> sum = 0;
          double scale = 0;
          for (int tau = 0; tau < Lt; ++tau) {
            sum += C3.at(int(i), 0, tau);
            scale += std::abs(C3.at(int(i), 0, tau));
          }
          EXPECT_LT(std::abs(sum - N.at(0, 0, t)), 1e-10 * scale)
              << names[i] << " t = " << t << ": " << sum << " for " << N.at(0, 0, t);
        }
      }
    }
  }
}

TEST(FeynmanHellmann, is_the_sum_of_sequential_three_point_functions_wilson) {
  const Coord extents{2, 4, 2, 4}, at{1, 3, 0, 2};
  const auto lattice = make_lattice(extents);
  const auto matrix = clover(test::to_product(lattice, test::random_gauge(extents, 72, 0.6)), 0.4, 1.0);
  const auto solve = [&](const Source& b) { return solve_propagator(matrix, accurate, b); };
  expect_sum_of_three_points(solve(point_source(lattice, at)), solve);
}

TEST(FeynmanHellmann, is_the_sum_of_sequential_three_point_functions_domain_wall) {
  const Coord extents{2, 2, 2, 4}, at{1, 0, 1, 3};
  const auto lattice = make_lattice(extents);
  const auto matrix = std::make_shared<DomainWallMatrix>(
      test::to_product(lattice, test::random_gauge(extents, 73, 0.5)), test::moebius(0.1, 4, 1.5, 0.5));
  DomainWallSolve how;
  how.solver = EvenOddSpec{CgSpec{.tolerance = 1e-13, .max_iterations = 5000}};
  how.columns_per_solve = 12;
  const auto solve = [&](const Source& b) { return solve_domain_wall(matrix, how, b).quark; };
  expect_sum_of_three_points(solve(point_source(lattice, at)), solve);
}

TEST(FeynmanHellmann, mistakes_are_refused) {
  const Coord extents{2, 2, 2, 4};
  const auto lattice = make_lattice(extents);
  const auto matrix = clover(test::to_product(lattice, reference::unit_gauge(extents)), 0.5, 0.0);
  const Propagator S = solve_propagator(matrix, EvenOddSpec{CgSpec{}}, point_source(lattice, {0, 0, 0, 0}));
  const Propagator other =
      solve_propagator(matrix, EvenOddSpec{CgSpec{}}, point_source(lattice, {0, 0, 0, 1}));
  const Insertion wrong{Flavour::up, &other}, missing{Flavour::up, nullptr};
  for (const Insertion* insertion : {&wrong, &missing})
    EXPECT_THROW(octet_correlators({&S, &S, nullptr}, {"proton"}, {parity_projector(1)}, zero_momentum,
                                   octet_diquark(), insertion),
                 BadArgument);
  EXPECT_THROW(nucleon_sequential_source(S, {4, {1, 0}, parity_projector(1)}), BadArgument);
  EXPECT_THROW(nucleon_sequential_source(S, {1, {0, 0}, parity_projector(1)}), BadArgument);
}

}  // namespace in_test_feynman_hellmann
}  // namespace trellis
