/// In solvers inside solvers, for every quark, each one reaches its tolerance, treats a column as if it were
/// alone, and refuses what does not fit.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/all_quarks.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/solver/eigen/block_lanczos.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/deflated.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_methods.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {
namespace in_test_composed_solvers {

const Coord extents{4, 4, 4, 4};
constexpr double tolerance = 1e-9;

GaugeField links(uint64_t seed = 7) {
  return test::to_product(make_lattice(extents), test::random_gauge(extents, seed, 0.4));
}

/// Makes a column that CG solves in fewer iterations: what 30 applications leave of it are few eigenvectors.
void make_easy(const LinearOperator& M, SpinorField& b, int column) {
  SpinorField one = M.make_field(1), image = M.make_field(1);
  copy_columns(one, 0, b, column, 1);
  for (int i = 0; i < 30; ++i) {
    M.apply(image, one);
    combine(one, 1 / std::sqrt(norm2(image)), image, 0.0, image);
  }
  copy_columns(b, column, one, 0, 1);
}

/// Makes unit vectors on sites of both parities.
SpinorField point_columns(const LinearOperator& M, int columns) {
  SpinorField b = M.make_field(columns);
  for (int c = 0; c < columns; ++c) {
    std::vector<double> unit(size_t(b.reals()), 0.0);
    unit[size_t(2 * c)] = 1;
    b.set_site(b.layout().position({c % 2, 0, 0, 0}), c * b.slices(), unit.data());
  }
  return b;
}

void expect_columns_alone(const SolverSpec& solver, const LinearOperator& M, const SpinorField& b,
                          const SpinorField& x, const std::string& what) {
  for (int c = 0; c < b.rhs(); ++c) {
    SpinorField one = M.make_field(1), x_one = M.make_field(1);
    copy_columns(one, 0, b, c, 1);
    solve(solver, M, x_one, one);
    copy_columns(one, 0, x, c, 1);
    combine(one, 1.0, one, -1.0, x_one);
    EXPECT_EQ(norm2(one), 0.0) << what << ", column " << c;
  }
}

struct Composition {
  std::string name;
  SolverSpec solver;
};

/// Returns compositions. CG inside is what every quark can take: MR diverges on domain walls.
std::vector<Composition> compositions(SchurForm form) {
  const SolverSpec inside = CgSpec{.iterations = 8};
  const auto gcr = [](const Preconditioner& K) {
    return GcrSpec{.tolerance = tolerance, .preconditioner = K};
  };
  return {
      {"gcr of cg", gcr(inside)},
      {"gcr of cg in half", gcr(MixedPrecisionSpec{inside, Precision::half_precision})},
      {"gcr of even-odd cg in float",
       gcr(EvenOddSpec{MixedPrecisionSpec{inside, Precision::single_precision}, form})},
      {"float of gcr of cg", MixedPrecisionSpec{gcr(inside), Precision::single_precision}},
      {"even-odd gcr of gcr of cg in float",
       EvenOddSpec{gcr(GcrSpec{.iterations = 2,
                               .preconditioner = MixedPrecisionSpec{inside, Precision::single_precision}}),
                   form}},
      {"bicgstab of cg", BicgstabSpec{.tolerance = tolerance, .preconditioner = inside}},
      {"gcr of cg to 0.1", gcr(CgSpec{.tolerance = 0.1})},
      {"gcr of cg to 0.1 in half",
       gcr(MixedPrecisionSpec{CgSpec{.tolerance = 0.1}, Precision::half_precision})},
      {"gcr of cg to 0.1 in fp16",
       gcr(MixedPrecisionSpec{CgSpec{.tolerance = 0.1}, Precision::fp16_precision})},
      {"gcr of even-odd bicgstab in half",
       gcr(EvenOddSpec{MixedPrecisionSpec{BicgstabSpec{.iterations = 6}, Precision::half_precision}, form})},
      {"gcr of gcr to 0.1 in half",
       gcr(MixedPrecisionSpec{GcrSpec{.tolerance = 0.1}, Precision::half_precision})}};
}

TEST(ComposedSolvers, solve_every_quark_and_treat_columns_as_if_alone) {
  const GaugeField U = links();
  for (const test::Quark& quark : test::all_quarks(U, 0.1)) {
    SpinorField b = point_columns(*quark.M, 2);
    make_easy(*quark.M, b, 1);
    for (const Composition& c : compositions(quark.form)) {
      const std::string what = quark.name + ", " + c.name;
      SpinorField x = SpinorField::like(b);
      const SolveReport report = solve(c.solver, *quark.M, x, b);
      EXPECT_TRUE(report.converged) << what << ": " << report.summary();
      EXPECT_TRUE(report.stages.empty()) << what << ": " << report.summary();
      for (const double r : relative_residual(*quark.M, x, b)) EXPECT_LE(r, tolerance) << what;
      expect_columns_alone(c.solver, *quark.M, b, x, what);
    }
  }
}

TEST(ComposedSolvers, a_smoother_inside_saves_steps_of_gcr) {
  const GaugeField U = links();
  for (const test::Quark& quark : test::all_quarks(U, 0.1)) {
    if (quark.M->make_field(1).reals() != 24 || quark.name.starts_with("domain wall"))
      continue;  // the hermitian part is small or not definite
    const SpinorField b = point_columns(*quark.M, 1);
    SpinorField x = SpinorField::like(b), y = SpinorField::like(b);
    const GcrSpec plain{.tolerance = tolerance};
    GcrSpec smoothed = plain;
    smoothed.preconditioner = MrSpec{.iterations = 8};
    const int without = solve(plain, *quark.M, x, b).iterations,
              with = solve(smoothed, *quark.M, y, b).iterations;
    EXPECT_LT(2 * with, without) << quark.name;
  }
}

TEST(ComposedSolvers, a_fixed_number_of_iterations_never_reports_that_it_converged) {
  const auto M = test::wilson_operator(links(), 2.0, 0, 0);
  const SpinorField b = point_columns(*M, 2);
  for (const int n : {1, 7, 400}) {
    for (const SolverSpec& solver :
         {SolverSpec(MrSpec{.iterations = n}), SolverSpec(CgSpec{.iterations = n}),
          SolverSpec(GcrSpec{.iterations = n}), SolverSpec(BicgstabSpec{.iterations = n}),
          SolverSpec(EvenOddSpec{MrSpec{.iterations = n}}),
          SolverSpec(MixedPrecisionSpec{GcrSpec{.iterations = n}})}) {
      SpinorField x = SpinorField::like(b);
      const SolveReport report = solve(solver, *M, x, b);
      EXPECT_FALSE(report.converged) << report.summary();
      EXPECT_LE(report.iterations, n) << report.summary();
      EXPECT_EQ(report.relative_residual, relative_residual(*M, x, b)) << report.summary();
      if (n < 400) {
        EXPECT_EQ(report.reason, StopReason::fixed_iterations) << report.summary();
        EXPECT_EQ(report.iterations, n) << report.summary();
      }
    }
  }
}

/// This operator is c 1 in the storage of the operator itself.
class Multiple final : public LinearOperator {
 public:
  Multiple(LinearOperatorPtr like, double c, bool is_declared)
      : like_{like}, c_{c}, is_declared_{is_declared} {}
  bool is_hermitian() const override { return is_declared_; }
  bool is_positive() const override { return is_declared_; }
  FieldSpec domain(int columns = 1) const override { return like_->domain(columns); }
  const LatticePtr& domain_lattice() const override { return like_->domain_lattice(); }
  Cost cost(int) const override { return {}; }
  LinearOperatorPtr converted(Precision precision) const override {
    return std::make_shared<Multiple>(like_->converted(precision), c_, is_declared_);
  }
  std::string name() const override { return "multiple of 1"; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool, ColumnSums&) const override {
    combine(out, c_, in, 0.0, in);
  }
  LinearOperatorPtr like_;
  double c_;
  bool is_declared_;
};

TEST(ComposedSolvers, nan_of_a_preconditioner_is_reported_as_its_own) {
  const auto M = test::wilson_operator(links(), 0.1, 0, 0);
  const auto broken = std::make_shared<Multiple>(M, std::numeric_limits<double>::quiet_NaN(), true);
  const SpinorField b = point_columns(*M, 1);
  const GcrSpec inside{.iterations = 3, .preconditioner = broken};
  for (const SolverSpec& solver : {SolverSpec(GcrSpec{.fallback = false, .preconditioner = inside}),
                                   SolverSpec(GcrSpec{.fallback = false, .preconditioner = broken}),
                                   SolverSpec(MrSpec{.fallback = false, .preconditioner = broken}),
                                   SolverSpec(BicgstabSpec{.fallback = false, .preconditioner = broken}),
                                   SolverSpec(CgSpec{.fallback = false, .preconditioner = broken})}) {
    SpinorField x = SpinorField::like(b);
    const SolveReport report = solve(solver, *M, x, b);
    EXPECT_EQ(report.reason, StopReason::preconditioner_not_finite) << report.summary();
    EXPECT_FALSE(report.converged);
    EXPECT_EQ(norm2(x), 0.0) << report.summary();  // this was reached before
  }
}

/// A factor changes nothing but rounding: CG takes as many iterations.
TEST(ComposedSolvers, cg_takes_a_preconditioner_that_is_declared_fit) {
  const auto M = test::wilson_operator(links(), 0.1, 0, 0);
  const SpinorField b = point_columns(*M, 1);
  SpinorField x = SpinorField::like(b), y = SpinorField::like(b), z = SpinorField::like(b);
  const SolveReport plain = solve(CgSpec{}, *M, x, b);
  CgSpec with{.preconditioner = std::make_shared<Multiple>(M, 0.3, true)};
  const SolveReport scaled = solve(with, *M, y, b);
  EXPECT_TRUE(scaled.converged);
  EXPECT_EQ(scaled.iterations, plain.iterations);
  EXPECT_EQ(scaled.method, "cg on the normal equations, preconditioned by (multiple of 1)");
  const SolveReport low = solve(MixedPrecisionSpec{with, Precision::half_precision}, *M, z, b);
  EXPECT_TRUE(low.converged) << low.summary();
  EXPECT_TRUE(low.stages.empty()) << low.summary();

  for (const Preconditioner& K : {Preconditioner(std::make_shared<Multiple>(M, 0.3, false)),
                                  Preconditioner(MrSpec{.iterations = 4}), Preconditioner(M)}) {
    SpinorField w = SpinorField::like(b);
    EXPECT_THROW(solve(CgSpec{.preconditioner = K}, *M, w, b), BadArgument);
  }
}

/// This operator is (A^dagger A + 0.01)^-1 by CG to rounding: a preconditioner that leaves little to do.
class NearInverse final : public LinearOperator {
 public:
  explicit NearInverse(LinearOperatorPtr A) : A_{std::move(A)} {}
  bool is_hermitian() const override { return true; }
  bool is_positive() const override { return true; }
  FieldSpec domain(int columns = 1) const override { return A_->domain(columns); }
  const LatticePtr& domain_lattice() const override { return A_->domain_lattice(); }
  Cost cost(int) const override { return {}; }
  LinearOperatorPtr converted(Precision) const override { return nullptr; }
  std::string name() const override { return "near inverse"; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool, ColumnSums&) const override {
    set_zero(out);
    solve(CgSpec{1e-12}, ShiftedOperator(std::make_shared<NormalOperator>(A_), 0.01), out, in);
  }
  LinearOperatorPtr A_;
};

TEST(ComposedSolvers, a_good_preconditioner_of_cg_saves_iterations) {
  const auto M = test::wilson_operator(links(), 0.1, 0, 0);
  const SpinorField b = point_columns(*M, 1);
  SpinorField x = SpinorField::like(b), y = SpinorField::like(b);
  const SolveReport plain = solve(CgSpec{}, *M, x, b);
  const SolveReport with = solve(CgSpec{.preconditioner = std::make_shared<NearInverse>(M)}, *M, y, b);
  EXPECT_TRUE(with.converged) << with.summary();
  EXPECT_LT(4 * with.iterations, plain.iterations) << with.summary();
  combine(y, 1.0, y, -1.0, x);
  EXPECT_LT(norm2(y), 1e-16 * norm2(x));
}

TEST(ComposedSolvers, refuse_preconditioners_of_other_fields) {
  const GaugeField U = links();
  const auto M = test::wilson_operator(U, 0.1, 0, 0);
  const Coord smaller{4, 4, 4, 2};
  const auto elsewhere = test::wilson_operator(
      test::to_product(make_lattice(smaller), test::random_gauge(smaller, 7)), 0.1, 0, 0);
  const auto columns = std::make_shared<ShiftedColumns>(M, Coefficients{0.1, 0.2});
  const auto quarks = test::all_quarks(U, 0.1);
  const SpinorField b = point_columns(*M, 1);
  SpinorField x = SpinorField::like(b);
  const std::vector<Preconditioner> refused{
      Preconditioner(elsewhere),
      Preconditioner(columns),
      Preconditioner(quarks.back().M),
      Preconditioner(M->schur(SchurForm::symmetric)),
      Preconditioner(SolverOfOperator{MrSpec{.iterations = 3}, elsewhere}),
      Preconditioner(EvenOddSpec{SolverSpec(EvenOddSpec{MrSpec{.iterations = 3}})})};
  for (const Preconditioner& K : refused)
    EXPECT_THROW(solve(GcrSpec{.preconditioner = K}, *M, x, b), BadArgument) << K.name(*M);
  // A solver of the same links with another mass is a preconditioner.
  const SolverOfOperator heavy{MrSpec{.iterations = 8}, test::wilson_operator(U, 0.3, 0, 0)};
  EXPECT_TRUE(solve(GcrSpec{.tolerance = tolerance, .preconditioner = heavy}, *M, x, b).converged);
}

TEST(ComposedSolvers, deflation_stands_at_any_depth) {
  const auto M = test::wilson_operator(links(), -0.3, 0, 0);
  const auto S = M->schur(SchurForm::symmetric);
  LanczosSpec search;
  search.count = 8;
  const auto modes = std::make_shared<Eigenvectors>(lanczos(S, search));
  ASSERT_TRUE(modes->converged);
  const SpinorField b = point_columns(*M, 2);
  const GcrSpec gcr{.tolerance = tolerance, .preconditioner = DeflatedSpec{CgSpec{.iterations = 4}, modes}};
  for (const SolverSpec& solver :
       {SolverSpec(EvenOddSpec{gcr}), SolverSpec(DeflatedSpec{EvenOddSpec{CgSpec{tolerance}}, modes}),
        SolverSpec(EvenOddSpec{DeflatedSpec{MixedPrecisionSpec{CgSpec{tolerance}}, modes}})}) {
    SpinorField x = SpinorField::like(b);
    const SolveReport report = solve(solver, *M, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    EXPECT_LE(report.largest_residual(), tolerance);
  }
  SpinorField x = SpinorField::like(b);
  EXPECT_THROW(solve(DeflatedSpec{CgSpec{}, modes}, *M, x, b), BadArgument);  // S has these, not M
  EXPECT_THROW(SolverSpec(DeflatedSpec{CgSpec{}, nullptr}), BadArgument);
}

TEST(PreparedForOperators, eigenvectors_are_refused_for_another_operator_and_updated_for_it) {
  const auto lattice = make_lattice(extents);
  const auto on = [&](double spread) {
    return test::wilson_operator(test::to_product(lattice, test::random_gauge(extents, 9, spread)), -0.3, 0,
                                 0)
        ->schur(SchurForm::symmetric);
  };
  const auto A = on(0.4), similar = on(0.41);
  LanczosSpec search;
  search.count = 6;
  const Eigenvectors first = lanczos(A, search);
  first.require_belong_to(*A);
  EXPECT_THROW(first.require_belong_to(*on(1.5)), BadArgument);
  const auto updated = std::dynamic_pointer_cast<const Eigenvectors>(first.updated(similar));
  ASSERT_TRUE(updated);
  EXPECT_TRUE(updated->converged);
  const Eigenvectors anew = lanczos(similar, search);
  for (int k = 0; k < 6; ++k)
    EXPECT_NEAR(updated->values[size_t(k)], anew.values[size_t(k)], 1e-10 * anew.upper) << k;
  EXPECT_EQ(updated->name(), "6 eigenvectors of even-odd Wilson (symmetric)");
  EXPECT_THROW((void)first.updated(
                   test::staggered_operator(std::make_shared<StaggeredLinks>(links(), KernelChoice{}), 0.1)),
               BadArgument);
}

TEST(SolverMethods, are_made_by_name_and_refuse_unknown_words) {
  using Values = std::map<std::string, SolverParameters::Value>;
  const auto M = test::wilson_operator(links(), 0.1, 0, 0);
  const SolverSpec mr = solver_by_name("mr", Values{{"iterations", int64_t(8)}, {"relaxation", 0.9}});
  const SolverSpec gcr = solver_by_name("gcr", Values{{"tolerance", 1e-7}, {"preconditioner", mr}});
  EXPECT_EQ(gcr->name(*M), "gcr(16), preconditioned by (mr, 8 iterations)");
  EXPECT_EQ(gcr.limits().tolerance, 1e-7);
  const SolverSpec mixed =
      solver_by_name("mixed_precision", Values{{"solver", gcr}, {"inner", std::string("half")}});
  EXPECT_EQ(mixed->name(*M), "gcr(16), preconditioned by (mr, 8 iterations), half inside");
  EXPECT_THROW(solver_by_name("gmres", {}), BadArgument);
  EXPECT_THROW(solver_by_name("gcr", Values{{"restarts", int64_t(8)}}), BadArgument);
  EXPECT_THROW(solver_by_name("gcr", Values{{"tolerance", std::string("small")}}), BadArgument);
  EXPECT_THROW(solver_by_name("even_odd", {}), BadArgument);
  EXPECT_THROW(solver_by_name("even_odd", Values{{"solver", gcr}, {"form", std::string("both")}}),
               BadArgument);
}

}  // namespace in_test_composed_solvers
}  // namespace trellis
