/// These tests compare multigrid on a GPU with the CPU, both with the smoother `mr`: P and P^dagger, the
/// coarse operator and its set-up, and whole solves. They are a part of the program test_cuda.
#include "tests/support/gpu_comparison.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/multigrid/galerkin.hpp"
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_cuda_multigrid {

using test::append;
using test::expect_alike;
using test::Numbers;
using test::numbers_of;

struct Parts {
  std::shared_ptr<WilsonOperator> M;
  std::unique_ptr<Prolongator> P;
  CoarseMatrixPtr coarse;
};

class CudaMultigrid : public test::OnGpu {
 protected:
  const Coord extents{4, 4, 8, 8}, block{2, 2, 2, 2};
  LatticePtr lattice = make_lattice(extents, world()->size() == 4 ? Coord{1, 1, 2, 2} : Coord{0, 0, 0, 0});
  GaugeField U = test::to_product(lattice, test::random_gauge(extents, 61, 0.35));

  /// Returns the operator with links where it works, as Python has them.
  std::shared_ptr<WilsonOperator> clover(Backend backend, Precision precision, double mass = 0.05) const {
    WilsonParams params{.mass = mass, .csw_spatial = 1.1, .csw_temporal = 1.1};
    const KernelChoice choice{precision, 18, backend, backend == Backend::cpu ? 4 : 0};
    return std::make_shared<WilsonOperator>(backend == Backend::cuda ? U.on(backend) : U, params, choice);
  }
  Parts parts(Backend backend, Precision precision, int vectors) const {
    Parts parts;
    parts.M = clover(backend, precision);
    SpinorField columns = parts.M->make_field(vectors);
    fill_with_noise(columns, 5, 0, all_columns(columns));
    parts.P = std::make_unique<Prolongator>(columns, block, vectors);
    copy(parts.P->columns(), columns);
    EXPECT_GT(parts.P->orthonormalise(1e-8), 1e-8);
    parts.coarse = galerkin_product(*parts.M->matrix(), *parts.P);
    return parts;
  }
  MultigridParams params(int levels) const {
    MultigridParams p;
    p.block = block;
    p.vectors = 4;
    p.sweeps = 1;
    p.levels = levels;
    if (levels == 3) {
      p.coarse_blocks = {{1, 1, 2, 2}};
      p.coarse_vectors = {5};
      p.coarse_sweeps = 1;
    }
    p.smoother = MultigridSmoother::minimal_residual;
    return p;
  }
};

TEST_F(CudaMultigrid, restriction_and_prolongation) {
  for (const Precision precision : {Precision::double_precision, Precision::single_precision})
    for (const bool is_rounded : {false, true}) {
      if (is_rounded && precision == Precision::double_precision) continue;
      const auto transfers = [&](Backend backend) {
        Parts p = parts(backend, precision, 5);
        if (is_rounded) p.P->round_columns();
        Numbers all = numbers_of(p.P->columns());
        for (const int columns : {1, 3}) {
          SiteField coarse = p.P->make_coarse_field(columns);
          SpinorField fine = p.M->make_field(columns);
          fill_with_noise(fine, 6, 0, all_columns(fine));
          p.P->restrict_to(coarse, fine);
          append(all, numbers_of(coarse));
          p.P->prolong_to(fine, coarse);
          append(all, numbers_of(fine));
        }
        for (const int j : p.P->dependent_columns(0.9)) all.push_back(j);
        return all;
      };
      expect_alike(transfers(Backend::cuda), transfers(Backend::cpu),
                   message("P and P^dagger, ", name_of(precision), is_rounded ? ", P in half" : ""),
                   precision == Precision::double_precision ? 1e-13 : 1e-4);
    }
}

TEST_F(CudaMultigrid, coarse_operator_and_galerkin_product) {
  for (const Precision precision : {Precision::double_precision, Precision::single_precision})
    for (const bool is_half : {false, true}) {
      if (is_half && precision == Precision::double_precision) continue;
      const auto apply = [&](Backend backend) {
        const Parts p = parts(backend, precision, 5);
        const CoarseMatrixPtr D =
            (is_half ? p.coarse->stored_in(Precision::half_precision) : p.coarse)->shifted(0.01, 0.02);
        Numbers all = numbers_of(D->links());
        append(all, numbers_of(D->diagonal()));
        all.push_back(D->condition());
        for (const int columns : {1, 12}) {
          const CoarseOperator A(D);
          SiteField in = A.make_field(columns), out = SiteField::like(in);
          fill_with_noise(in, 7, 0, all_columns(in));
          A.apply(out, in);
          append(all, numbers_of(out));
          A.apply_dagger(out, in);
          append(all, numbers_of(out));
          for (const SchurForm form : {SchurForm::symmetric, SchurForm::asymmetric}) {
            const auto S = A.schur(form);
            SpinorField even = S->make_field(columns), schur = S->make_field(columns);
            S->prepare_source(even, in);
            S->apply(schur, even);
            append(all, numbers_of(schur));
            S->apply_dagger(schur, even);
            append(all, numbers_of(schur));
            S->reconstruct(out, schur, in);
            append(all, numbers_of(out));
          }
        }
        return all;
      };
      expect_alike(apply(Backend::cuda), apply(Backend::cpu),
                   message("coarse operator, ", name_of(precision), is_half ? ", matrices in half" : ""),
                   precision == Precision::double_precision ? 1e-12 : 1e-3);
    }
}

/// This struct holds what a set-up found, and what it solves.
struct Solved {
  Numbers setup, solution;
  int iterations = 0;
};

TEST_F(CudaMultigrid, setups_and_solves) {
  for (const int levels : {2, 3}) {
    const auto run = [&](Backend backend) {
      Solved solved;
      MultigridParams p = params(levels);
      if (backend == Backend::cuda) p.smoother = MultigridSmoother::by_rule;  // this is mr there
      if (levels == 2)
        p.coarse_modes = 2;
      else
        p.coarse_solver = CoarseSolver::schwarz;
      const auto M = clover(backend, Precision::double_precision);
      const MultigridPtr multigrid = Multigrid::make(*M, p);
      EXPECT_EQ(multigrid->params().smoother, MultigridSmoother::minimal_residual);
      solved.setup = multigrid->report().residual;
      solved.setup.push_back(multigrid->report().condition);
      for (const MultigridLevelReport& level : multigrid->report().coarse_levels)
        append(solved.setup, level.residual);
      append(solved.setup, numbers_of(*multigrid->coefficients()));
      // The solver stands by itself, inside GCR as Python's gcr(preconditioner=...) has it, and at another
      // mass.
      const SolverSpec own = MultigridSpec{.multigrid = multigrid, .tolerance = 1e-7, .fallback = false};
      const SolverSpec outside =
          GcrSpec{.tolerance = 1e-7, .fallback = false, .preconditioner = Preconditioner(own)};
      const auto lighter = clover(backend, Precision::double_precision, 0.03);
      for (const auto& [spec, A] : {std::pair{own, M}, {outside, M}, {own, lighter}}) {
        if (levels == 3 && A == lighter) continue;
        SpinorField b = M->make_field(2), x = SpinorField::like(b);
        fill_with_noise(b, 8, 0, all_columns(b));
        const SolveReport report = solve(spec, *A, x, b);
        EXPECT_TRUE(report.converged) << report.summary();
        EXPECT_LT(report.largest_residual(), 2e-7) << report.summary();
        solved.iterations += report.iterations;
        append(solved.solution, numbers_of(x));
      }
      return solved;
    };
    const Solved gpu = run(Backend::cuda), cpu = run(Backend::cpu);
    expect_alike(gpu.setup, cpu.setup, message("set-up of multigrid with ", levels, " levels"), 1e-3);
    expect_alike(gpu.solution, cpu.solution, message("solves by multigrid with ", levels, " levels"), 1e-6);
    if (test::is_gpu_simulated()) {
      EXPECT_EQ(gpu.iterations, cpu.iterations);
    }
  }
}

TEST_F(CudaMultigrid, schwarz_is_refused_with_what_takes_its_place) {
  MultigridParams p = params(2);
  p.smoother = MultigridSmoother::schwarz;
  try {
    Multigrid::make(*clover(Backend::cuda, Precision::double_precision), p);
    FAIL() << "no error";
  } catch (const BadArgument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("smoother = mr takes its place"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

}  // namespace in_test_cuda_multigrid
}  // namespace trellis
