#pragma once
/// This file has the systems of mg_gold.json: F4 and F8 with kappa = .1350 and csw = 1.769, their test
/// vectors, and what the file says of coarse operators.
#include "tests/support/multigrid.hpp"
#include "tests/support/tolerance.hpp"

namespace trellis::test {

/// Dense quantities have the first tolerance, and those that pass through MR the second: block solves by MR
/// are not linear, and rounding grows.
constexpr double dense_tolerance = 1e-10, mr_tolerance = 1e-8;

struct MultigridSystem {
  std::shared_ptr<const reference::WilsonLevel> D;
  Coord block;

  MultigridSystem(const reference::Gauge& U, const Coord& block_extents)
      : D{std::make_shared<const reference::WilsonLevel>(
            reference::WilsonOperator(U, reference::wilson_clover(reference::mass_of_kappa(0.1350), 1.769)))},
        block{block_extents} {}

  std::shared_ptr<const reference::Schwarz> schwarz(reference::BlockSolver solver) const {
    return std::make_shared<const reference::Schwarz>(D, block, solver, 4);
  }
  /// Makes the hash vectors behind the three passes of the set-up.
  std::vector<reference::LevelVector> init_vectors(int count) const {
    return initial_test_vectors(*schwarz(reference::BlockSolver::mr_even_odd),
                                hash_level_vectors(D->size(), count));
  }
};

void expect_values(const std::vector<double>& found, const nlohmann::json& expected, double tolerance,
                   const std::string& what);

/// Returns |D v| of each vector.
std::vector<double> image_norms(const reference::LevelOperator& D,
                                const std::vector<reference::LevelVector>& vectors);

/// Returns |b - D x| / |b| after each of five cycles from 0.
std::vector<double> residuals_of_cycles(const MultigridSystem& s, const reference::Schwarz& sap,
                                        const reference::LevelVector& b);

/// Compares with an entry "coarse", which holds what does not depend on a basis of the coarse space.
void expect_coarse(const std::string& id, const reference::Prolongator& P,
                   const reference::CoarseOperator& D_c, double tolerance);

}  // namespace trellis::test
