// timeout: 600
/// Error propagators of exact Schwarz and two-grid cycles on F4 agree with mg_gold.json: norms, spectral
/// radii and traces.
#include <gtest/gtest.h>

#include <Eigen/Sparse>

#include "tests/support/multigrid_F4.hpp"

namespace trellis::reference {
namespace in_test_reference_multigrid_propagators {

using test::Coarsening;
using test::dense_tolerance;
using test::DenseMatrix;
using test::DenseVector;
using test::F4;
using test::lowest;
using test::mr_tolerance;
using test::relative_error;

/// Rows lie one after the other: the product of a sparse matrix and a dense one then adds whole rows.
using SparseMatrix = Eigen::SparseMatrix<std::complex<double>, Eigen::RowMajor>;
using RowMajor = Eigen::Matrix<std::complex<double>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// This class applies E and E^dagger to vectors, and E to all columns of a matrix. E = (1 - R_black D)(1 -
/// R_red D), where R is the sum of D_BB^-1 over the blocks of a colour; the additive one is E = 1 - R D with
/// all blocks.
class ExactSchwarz {
 public:
  explicit ExactSchwarz(bool is_additive) : is_additive_{is_additive} {
    std::vector<Eigen::Triplet<std::complex<double>>> entries;
    const LevelOperator& D = *F4().D;
    const auto add = [&](int64_t x, int64_t y, const Matrix& term) {
      for (int i = 0; i < 12; ++i)
        for (int j = 0; j < 12; ++j)
          if (norm2(term(i, j)) > 0)
            entries.emplace_back(int(12 * x) + i, int(12 * y) + j, to_std(term(i, j)));
    };
    for (int64_t x = 0; x < D.volume(); ++x) {
      add(x, x, D.self_matrix(x));
      for (int step = 0; step < 8; ++step) add(x, D.neighbour_of(x, step), D.leg_matrix(x, step));
    }
    matrix_.resize(int(D.size()), int(D.size()));
    matrix_.setFromTriplets(entries.begin(), entries.end());
    for (int64_t B = 0; B < blocks().count(); ++B) {
      rows_.emplace_back();
      for (const int64_t x : blocks().sites(B))
        for (int i = 0; i < 12; ++i) rows_.back().push_back(12 * x + i);
      inverses_.push_back(block(rows_.back()).inverse());
    }
  }

  LevelVector apply(LevelVector v) const {
    for (const auto colour : colours()) v = difference(v, sap_->correction(F4().D->apply(v), colour));
    return v;
  }
  LevelVector apply_adjoint(const LevelVector& v) const {
    LevelVector w = gamma5_times(12, v);
    auto reversed = colours();
    std::reverse(reversed.begin(), reversed.end());
    for (const auto colour : reversed) w = difference(w, F4().D->apply(sap_->correction(w, colour)));
    return gamma5_times(12, w);
  }
  RowMajor apply(RowMajor X) const {
    for (const auto colour : colours()) {
      const RowMajor R = matrix_ * X;
      for (int64_t B = 0; B < blocks().count(); ++B)
        if (!colour || blocks().colour(B) == *colour) {
          const auto& rows = rows_[size_t(B)];
          X(rows, Eigen::all) -= inverses_[size_t(B)] * R(rows, Eigen::all);
        }
    }
    return X;
  }
  const SparseMatrix& matrix() const { return matrix_; }

 private:
  const Blocks& blocks() const { return sap_->blocks(); }
  std::vector<std::optional<int>> colours() const {
    return is_additive_ ? std::vector<std::optional<int>>{std::nullopt}
                        : std::vector<std::optional<int>>{0, 1};
  }
  DenseMatrix block(const std::vector<Eigen::Index>& rows) const {
    const auto size = Eigen::Index(rows.size());
    DenseMatrix B(size, size);
    for (Eigen::Index i = 0; i < size; ++i)
      for (Eigen::Index j = 0; j < size; ++j) B(i, j) = matrix_.coeff(rows[size_t(i)], rows[size_t(j)]);
    return B;
  }

  bool is_additive_;
  std::shared_ptr<const Schwarz> sap_ = F4().schwarz(BlockSolver::exact);
  SparseMatrix matrix_;
  std::vector<std::vector<Eigen::Index>> rows_;
  std::vector<DenseMatrix> inverses_;
};

const ExactSchwarz& red_black() {
  static const ExactSchwarz schwarz(false);
  return schwarz;
}

RowMajor identity() {
  const auto size = Eigen::Index(F4().D->size());
  return RowMajor::Identity(size, size);
}

/// Returns E C, where C = 1 - P D_c^-1 P^dagger D.
RowMajor corrected(const Coarsening& c, const RowMajor& E) {
  DenseMatrix P(E.rows(), Eigen::Index(c.D_c.size()));
  for (Eigen::Index j = 0; j < P.cols(); ++j)
    P.col(j) = test::to_dense(c.P.prolong(test::to_level(DenseVector::Unit(P.cols(), j))));
  const DenseMatrix PD = P.adjoint() * red_black().matrix();
  const DenseMatrix solved = test::to_dense(c.D_c.dense()).partialPivLu().solve(PD);
  return E - RowMajor(E * P) * solved;
}

double largest_singular_value(const LevelMap& M, const LevelMap& M_adjoint) {
  const Eigen::VectorXd squares = test::lanczos_eigenvalues(
      int(F4().D->size()),
      [&](const DenseVector& v) { return test::to_dense(M_adjoint(M(test::to_level(v)))); }, 50);
  return std::sqrt(squares.maxCoeff());
}

double spectral_radius(const LevelMap& M) {
  return test::arnoldi_eigenvalues(
             Eigen::Index(F4().D->size()),
             [&](const DenseVector& v) { return test::to_dense(M(test::to_level(v))); }, 120)
      .cwiseAbs()
      .maxCoeff();
}

void expect_propagator(const std::string& id, const RowMajor& E, const LevelMap& apply,
                       const LevelMap& apply_adjoint, double tolerance) {
  const auto& expected = test::multigrid_gold(id);
  const LevelVector v = test::hash_level_vector(F4().D->size(), 5);
  EXPECT_LT((E * test::to_dense(v) - test::to_dense(apply(v))).norm(), 1e-12 * std::sqrt(norm2(v))) << id;
  EXPECT_LT(relative_error(E.norm(), expected.at("frobenius").get<double>()), tolerance) << id;
  EXPECT_LT(std::abs(E.trace() - test::gold_complex(expected.at("trace"))), tolerance * E.norm()) << id;
  EXPECT_LT(relative_error(largest_singular_value(apply, apply_adjoint), expected.at("norm2").get<double>()),
            tolerance)
      << id;
  EXPECT_LT(relative_error(spectral_radius(apply), expected.at("spectral_radius").get<double>()), tolerance)
      << id;
}

TEST(ReferenceMultigridPropagators, additive_schwarz) {
  TRELLIS_NEEDS_DATA();
  const ExactSchwarz additive(true);
  expect_propagator(
      "f4.schwarz.additive_exact", additive.apply(identity()),
      [&](const LevelVector& v) { return additive.apply(v); },
      [&](const LevelVector& v) { return additive.apply_adjoint(v); }, dense_tolerance);
}

void expect_two_grid(const std::string& id, const Coarsening& c, const RowMajor& E, int cycles,
                     double tolerance) {
  RowMajor EC = corrected(c, E);
  for (int i = 1; i < cycles; ++i) EC = red_black().apply(EC);
  expect_propagator(
      id, EC,
      [&](const LevelVector& v) {
        LevelVector w = c.correct(v);
        for (int i = 0; i < cycles; ++i) w = red_black().apply(w);
        return w;
      },
      [&](const LevelVector& v) {
        LevelVector w = v;
        for (int i = 0; i < cycles; ++i) w = red_black().apply_adjoint(w);
        return c.correct_adjoint(w);
      },
      tolerance);
}

TEST(ReferenceMultigridPropagators, red_black_schwarz_and_two_grid_cycles) {
  TRELLIS_NEEDS_DATA();
  const RowMajor E = red_black().apply(identity());
  expect_propagator(
      "f4.schwarz.red_black_exact", E, [](const LevelVector& v) { return red_black().apply(v); },
      [](const LevelVector& v) { return red_black().apply_adjoint(v); }, dense_tolerance);
  expect_two_grid("f4.hash_vectors.n4.two_grid.post1_exact_blocks",
                  Coarsening(test::hash_level_vectors(F4().D->size(), 4)), E, 1, dense_tolerance);
  expect_two_grid("f4.init_vectors.n4.two_grid.post1_exact_blocks", Coarsening(F4().init_vectors(4)), E, 1,
                  mr_tolerance);
  expect_two_grid("f4.lowmodes.n8.two_grid.post2_exact_blocks", Coarsening(lowest(8)), E, 2, dense_tolerance);
  expect_two_grid("f4.init_vectors.n8.two_grid.post2_exact_blocks", Coarsening(F4().init_vectors(8)), E, 2,
                  mr_tolerance);
}

TEST(ReferenceMultigridPropagators, coarse_corrections) {
  TRELLIS_NEEDS_DATA();
  for (const auto& [id, vectors] :
       {std::pair{"f4.hash_vectors.n4", test::hash_level_vectors(F4().D->size(), 4)},
        {"f4.lowmodes.n4", lowest(4)}}) {
    const Coarsening c(vectors);
    const auto& expected = test::multigrid_gold(std::string(id) + ".coarse_correction");
    EXPECT_LT(
        relative_error(largest_singular_value([&](const LevelVector& v) { return c.correct(v); },
                                              [&](const LevelVector& v) { return c.correct_adjoint(v); }),
                       expected.at("norm2").get<double>()),
        dense_tolerance)
        << id;
    // The trace is tr C = 12 V - tr D_c^-1 P^dagger D P.
    const DenseMatrix removed = test::dense_matrix(c.D_c.size(), [&](const LevelVector& v) {
      return c.solve(c.P.restrict(F4().D->apply(c.P.prolong(v))));
    });
    EXPECT_LT(relative_error(double(F4().D->size()) - removed.trace().real(),
                             expected.at("trace_re").get<double>()),
              dense_tolerance)
        << id;
  }
}

}  // namespace in_test_reference_multigrid_propagators
}  // namespace trellis::reference
