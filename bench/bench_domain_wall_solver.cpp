/// This program measures red-black CG of Moebius domain walls: 16 bits inside against double, beside the
/// ratio of the two whole operators that are timed in the same turn, and twelve batched columns against
/// twelve single ones. --rounds is the number of turns. The gauge field comes from the heat bath at beta = 6
/// (30 sweeps from a cold start), m_f = 0.05.
#include "bench/measurement.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/domain_wall_propagator.hpp"
#include "trellis/measure/source.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {
namespace {

/// Applies S^dagger S n times, and returns the seconds of one application.
double seconds_of_operator(const LinearOperator& S, const SpinorField& b, int n) {
  SpinorField in = S.make_field(b.rhs()), out = S.make_field(b.rhs());
  convert(in, b);
  S.apply(out, in);
  const double start = now();
  for (int i = 0; i < n; ++i) {
    S.apply(out, in);
    S.apply_dagger(in, out);
  }
  return (now() - start) / n;
}

struct Turn {
  double operators[2];  // the first is double, the second 16 bit
  SolveReport solve[2];
};

class Measured {
 public:
  Measured(const GaugeField& U, int Ls, int link_reals) {
    DomainWallParams p;
    p.mass = 0.05;
    p.Ls = Ls;
    p.b5 = {1.5};
    p.c5 = {0.5};
    matrix_ = std::make_shared<DomainWallMatrix>(
        U, p, KernelChoice{Precision::double_precision, link_reals, U.backend()});
    S_ = std::make_unique<DomainWallSchur>(matrix_, SchurForm::symmetric);
    half_ = S_->converted(Precision::half_precision);
    point_.emplace(point_source(matrix_->hop().lattice_ptr(), {0, 0, 0, 0}));
  }

  /// Solves for the columns first, first + 1, ... of a point source.
  SolveReport solve(bool is_half, int columns, int first = 0) const {
    const DomainWallOperator D(matrix_);
    SpinorField b = D.make_field(columns), source = S_->make_field(columns);
    set_wall_source(b, *matrix_, point_->columns, first);
    S_->prepare_source(source, b);
    SpinorField x = SpinorField::like(source);
    if (is_half)
      return trellis::solve(MixedPrecisionSpec{CgSpec{1e-10}, Precision::half_precision},
                            OperatorCopies(*S_).provide(half_), x, source);
    return trellis::solve(CgSpec{1e-10}, *S_, x, source);
  }

  Turn turn() const {
    Turn t{};
    SpinorField b = S_->make_field();
    set_wall_source_of_schur(b);
    for (const int half : {0, 1}) {
      t.operators[half] = seconds_of_operator(half ? *half_ : static_cast<const LinearOperator&>(*S_), b, 5);
      t.solve[half] = solve(half == 1, 1);
    }
    return t;
  }

  /// Returns the bytes of links and fields of a solve in double on all ranks.
  double working_set() const {
    return (double(matrix_->hop().links().bytes()) + 7.0 * double(S_->make_field().bytes())) *
           world()->size();
  }

 private:
  void set_wall_source_of_schur(SpinorField& source) const {
    const DomainWallOperator D(matrix_);
    SpinorField b = D.make_field(1);
    set_wall_source(b, *matrix_, point_->columns, 0);
    S_->prepare_source(source, b);
  }
  DomainWallMatrixPtr matrix_;
  std::unique_ptr<DomainWallSchur> S_;
  LinearOperatorPtr half_;
  std::optional<Source> point_;
};

Options defaults() {
  Options defaults;
  defaults.is_checkable = false;
  defaults.lattices = {{8, 8, 8, 8}};
  defaults.link_reals = {12};
  defaults.Ls = {12};
  defaults.rounds = 5;
  return defaults;
}

/// Adds the results of the two solves (the fastest of all turns), and returns what is made of both.
Json run(std::vector<Result>& results, const Coord& extents, int link_reals, int Ls, const Options& options) {
  GaugeField U(make_lattice(extents));
  for (int sweep = 0; sweep < 30; ++sweep) heatbath_update(U, {6.0, 1, 1}, 1, 0, uint32_t(sweep));
  const Measured m(U, Ls, link_reals);
  std::vector<double> gain, rates, share[2];
  SolveReport fastest[2];
  double batched = 0;
  for (int i = 0; i < options.rounds; ++i) {
    const Turn t = m.turn();
    gain.push_back(t.solve[0].seconds / t.solve[1].seconds);
    rates.push_back(t.operators[0] / t.operators[1]);
    for (const int k : {0, 1}) {
      share[k].push_back(t.operators[k] * t.solve[k].iterations / t.solve[k].seconds);
      if (i == 0 || t.solve[k].seconds < fastest[k].seconds) fastest[k] = t.solve[k];
    }
    // Twelve times the mean of a batch are compared with it: columns of a point source converge alike.
    if (i == 0) batched = 12 * t.solve[1].seconds / m.solve(true, 12).seconds;
  }
  for (const int k : {0, 1}) {
    Result r = solve_result("domain_wall_solver", k ? "cg double-half" : "cg double", fastest[k],
                            m.working_set() / (k ? 4 : 1),
                            k ? Precision::half_precision : Precision::double_precision, options);
    r.lattice = extents;
    r.link_reals = link_reals;
    r.more["Ls"] = Ls;
    results.push_back(r);
  }
  return {{"lattice", extents},
          {"link_reals", link_reals},
          {"Ls", Ls},
          {"operators_share_of_an_iteration",
           {{"double", rounded(median(share[0]))}, {"half", rounded(median(share[1]))}}},
          {"ratio_of_operators", rounded(median(rates))},
          {"speed_against_double_cg", rounded(median(gain))},
          {"gain_over_ratio", rounded(median(gain) / median(rates))},
          {"twelve_batched_against_twelve_single", rounded(batched)}};
}

int bench(const Options& options) {
  set_thread_count(options.threads);
  std::vector<Result> results;
  Json summaries;
  for (const Coord& extents : options.lattices)
    for (const int link_reals : options.link_reals)
      for (const int Ls : options.Ls) summaries.push_back(run(results, extents, link_reals, Ls, options));
  return report(results, options, {}, {{"summaries", summaries}});
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark(
      {"Red-black CG of Moebius domain walls: 16 bits inside against double.", defaults(), bench}, argc,
      argv);
}
