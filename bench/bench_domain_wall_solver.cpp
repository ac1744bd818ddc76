/// Red-black CG of Moebius domain walls: 16 bits inside against double, beside the ratio of the two whole
/// operators that are timed in the same turn, and twelve batched columns against twelve single ones. --rhs is
/// Ls, --rounds the number of turns. The gauge field comes from the heat bath at beta = 6 (30 sweeps from a
/// cold start), m_f = 0.05.
#include <cstdio>

#include "bench/measurement.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/domain_wall_propagator.hpp"
#include "trellis/measure/source.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {
namespace {

/// Seconds of one S^dagger S, n times.
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
  double operators[2], iteration[2], solve[2];  // double, 16 bit
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

  /// Columns first, first + 1, ... of a point source.
  SolveReport solve(bool is_half, int columns, int first = 0) const {
    const DomainWallOperator D(matrix_);
    SpinorField b = D.make_field(columns), source = S_->make_field(columns);
    set_wall_source(b, *matrix_, point_->columns, first);
    S_->prepare_source(source, b);
    SpinorField x = SpinorField::like(source);
    if (is_half)
      return trellis::solve(MixedPrecisionSpec{CgSpec{1e-10}, Precision::half_precision}, *S_, x, source,
                            half_);
    return trellis::solve(CgSpec{1e-10}, *S_, x, source);
  }

  Turn turn() const {
    Turn t{};
    SpinorField b = S_->make_field();
    set_wall_source_of_schur(b);
    for (const int half : {0, 1}) {
      t.operators[half] = seconds_of_operator(half ? *half_ : static_cast<const LinearOperator&>(*S_), b, 5);
      const SolveReport r = solve(half == 1, 1);
      iterations[half] = r.iterations;
      t.solve[half] = r.seconds;
      t.iteration[half] = r.seconds / r.iterations;
    }
    return t;
  }
  mutable int iterations[2] = {0, 0};

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

int bench(int argc, char** argv) {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}};
  defaults.link_reals = {12};
  defaults.rhs = {12};
  defaults.rounds = 5;
  const Options options = parse_options(argc, argv, defaults);
  set_thread_count(options.threads);
  for (const Coord& extents : options.lattices)
    for (const int Ls : options.rhs) {
      GaugeField U(make_lattice(extents));
      for (int sweep = 0; sweep < 30; ++sweep) heatbath_update(U, {6.0, 1, 1}, 1, 0, uint32_t(sweep));
      const Measured m(U, Ls, options.link_reals[0]);
      std::vector<double> gain, rates, share[2], batched;
      for (int i = 0; i < options.rounds; ++i) {
        const Turn t = m.turn();
        gain.push_back(t.solve[0] / t.solve[1]);
        rates.push_back(t.operators[0] / t.operators[1]);
        for (const int k : {0, 1}) share[k].push_back(t.operators[k] / t.iteration[k]);
        // twelve times the mean of a batch against it: columns of a point source converge alike
        if (i == 0) batched.push_back(12 * t.solve[1] / m.solve(true, 12).seconds);
      }
      if (world()->rank() != 0) continue;
      std::printf(
          "{\"lattice\": \"%s\", \"Ls\": %d, \"threads\": %d, \"ranks\": %d,\n \"iterations_double\": %d, "
          "\"iterations_half\": %d,\n \"operators_share_of_an_iteration\": {\"double\": %.3f, \"half\": "
          "%.3f},\n \"ratio_of_operators\": %.2f, \"speed_against_double_cg\": %.2f, "
          "\"gain_over_ratio\": %.3f,\n \"twelve_batched_against_twelve_single\": %.2f}\n",
          to_string(extents).c_str(), Ls, options.threads, world()->size(), m.iterations[0], m.iterations[1],
          median(share[0]), median(share[1]), median(rates), median(gain), median(gain) / median(rates),
          batched.front());
    }
  return 0;
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) { return trellis::bench::run_benchmark(trellis::bench::bench, argc, argv); }
