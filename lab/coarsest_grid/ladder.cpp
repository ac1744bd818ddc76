/// This ladder counts what the coarsest grid of a multigrid asks of a network: the present solver, s-step
/// GCR, Chebyshev iteration and domain decomposition on fixed boxes, with and without deflation, for coarse
/// residuals of a real solve. README.md beside this file has the numbers.
///
///   lab_coarsest_grid_ladder [--lattice 16.16.16.16] [--gauge FILE | --keep-field FILE] [--kappa .1350]
///   [--csw 1.769] [--vectors 20] [--coarse-tolerance .05]
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "bench/thermal_field.hpp"
#include "lab/coarsest_grid/boxes.hpp"
#include "lab/coarsest_grid/methods.hpp"
#include "trellis/multigrid/coarse_schwarz.hpp"
#include "trellis/multigrid/multigrid.hpp"

namespace trellis::lab {
namespace {

/// A message and a reduction take so many microseconds; a grid of 64 nodes that splits all four directions,
/// on each of which a box of 2^4 coarse sites lies, sends 8 messages an exchange.
constexpr double message = 2, reduction = 10, messages = 8;
constexpr int most_steps = 400, cycles = 6;

double price(const Count& c) { return c.applications * 2 * messages * message + c.sums * reduction; }

struct Settings {
  bench::ThermalField field;
  double kappa = 0.1350, csw = 1.769, tolerance = 0.05;
  int vectors = 20;
};
Settings& settings() {
  static Settings all;
  return all;
}

/// Returns what a cycle hands to the coarsest grid: the sources of the even-odd system of P^dagger r, for the
/// residuals r of a solve that makes one cycle after the other.
std::vector<SpinorField> coarse_sources(const Multigrid& multigrid, const WilsonOperator& M,
                                        const SchurOperator& S) {
  SpinorField r = M.make_field(1), z = SpinorField::like(r), w = SpinorField::like(r);
  bench::set_point_sources(r);
  const auto K = multigrid.cycle(M, 1);
  SpinorField in_float = multigrid.fine()->make_field(1);
  SiteField coarse = multigrid.prolongator().make_coarse_field(1);
  std::vector<SpinorField> sources;
  SolveCost cost;
  for (int i = 0; i < cycles; ++i) {
    convert(in_float, r);
    multigrid.prolongator().restrict_to(coarse, in_float);
    S.prepare_source(sources.emplace_back(S.make_field(1)), coarse);
    K->apply(z, r, cost);
    M.apply(w, z);
    const std::complex<double> alpha = dot_each(w, r)[0] / norm2_each(w)[0];
    combine(r, ComplexCoefficients{1.0}, r, ComplexCoefficients{-alpha}, w);
    std::printf("cycle %d leaves |r| = %.2e\n", i + 1, std::sqrt(norm2_each(r)[0]));
  }
  return sources;
}

class Ladder {
 public:
  Ladder(const Multigrid& multigrid, const WilsonOperator& M)
      : copies_{multigrid.coarse_operator().schur(SchurForm::symmetric)},
        S_{copies_.as_schur()},
        matrix_{multigrid.coarse()},
        sources_{coarse_sources(multigrid, M, S_)},
        found_{multigrid.coarse_modes()} {
    if (found_) modes_ = modes_of(S_, *found_);
    radius_ = spectral_radius(S_, sources_.front(), 60);
  }

  void run();

 private:
  using Method = std::function<void(System&, SpinorField& x, SpinorField& r, const Modes* kept)>;
  using Boxes = std::function<void(SpinorField& z, const SpinorField& r)>;
  void rung(const std::string& name, Deflation how, const Method& method, const Boxes& K = {});
  void boxes();
  void s_steps();
  void chebyshevs();

  const OperatorCopies& copies_;
  const SchurOperator& S_;
  CoarseMatrixPtr matrix_;
  std::vector<SpinorField> sources_;
  std::shared_ptr<const Eigenvectors> found_;
  Modes modes_;
  double radius_ = 1, present_ = 0;
};

void Ladder::rung(const std::string& name, Deflation how, const Method& method, const Boxes& K) {
  if (how != Deflation::none && !found_) return;
  Count total;
  bool converged = true;
  double worst = 0;
  for (const SpinorField& b : sources_) {
    System system(S_, settings().tolerance);
    system.K = K;
    SpinorField x = SpinorField::like(b), r = b;
    deflate(system, how, found_.get(), modes_, x, r);
    const double left = std::sqrt(norm2_each(r)[0]);
    method(system, x, r, how == Deflation::kept ? &modes_ : nullptr);
    S_.apply(r, x);
    combine(r, 1.0, b, -1.0, r);
    converged = converged && system.count.converged;
    worst = std::max(worst, std::sqrt(norm2_each(r)[0]) / left);
    total += system.count;
  }
  const double n = double(sources_.size()), us = price(total) / n;
  if (present_ == 0) present_ = us;
  static const char* const deflations[] = {"none", "applied", "images", "kept"};
  std::printf("| %-42s | %-9s | %5.1f | %5.1f | %5.1f | %6.0f | %4.2f | %.3f%s |\n", name.c_str(),
              deflations[int(how)], total.applications / n, total.box_solves / n, total.sums / n, us,
              us / present_, worst, converged ? "" : " not converged");
  std::fflush(stdout);
}

void Ladder::run() {
  const auto plain = [](System& s, SpinorField& x, SpinorField& r, const Modes* kept) {
    gcr(s, x, r, kept, most_steps);
  };
  std::printf("spectral radius of 1 - S: %.4f\n", radius_);
  if (found_) {
    std::printf("lowest modes of S^dagger S, upper end %.3f:", found_->upper);
    for (const double value : found_->values) std::printf(" %.3e", value);
    std::printf("\n");
  }
  std::printf("| method | deflation | S | boxes | sums | us | of the present | worst residual |\n");
  rung("gcr, one sum a step", Deflation::by_applications, plain);
  for (const Deflation how : {Deflation::none, Deflation::images, Deflation::kept})
    rung("gcr, one sum a step", how, plain);
  boxes();
  s_steps();
  chebyshevs();
}

void Ladder::boxes() {
  const auto plain = [](System& s, SpinorField& x, SpinorField& r, const Modes* kept) {
    gcr(s, x, r, kept, most_steps);
  };
  const Geometry& g = matrix_->lattice_ptr()->geometry();
  for (const Coord& box : {Coord{2, 2, 2, 2}, Coord{4, 2, 2, 2}, Coord{2, 2, 2, 4}, Coord{4, 4, 2, 2}}) {
    if (!coarse_box_error(g, box, matrix_->vectors()).empty()) continue;
    const CoarseBoxes exact(*matrix_, box);
    const auto K = [&](SpinorField& z, const SpinorField& r) { exact.apply(z, r); };
    for (const Deflation how : {Deflation::none, Deflation::images, Deflation::kept})
      rung("gcr, boxes of " + to_string(box) + ", exact", how, plain, K);
    if (box == coarse_box_by_rule)
      for (const int s : {2, 4, 8})
        rung(
            "s-step gcr, s = " + std::to_string(s) + ", boxes of " + to_string(box), Deflation::kept,
            [&](System& system, SpinorField& x, SpinorField& r, const Modes* kept) {
              s_step_gcr(system, x, r, kept, s, Basis::newton, 0, most_steps);
            },
            K);
    if (box[0] > 2) continue;
    BoxesByMr by_mr(matrix_, box);
    for (const int steps : {1, 2, 4, 8}) {
      by_mr.steps = steps;
      rung("gcr, boxes of " + to_string(box) + ", " + std::to_string(steps) + " steps of MR", Deflation::kept,
           plain, [&](SpinorField& z, const SpinorField& r) { by_mr.apply(z, r); });
    }
  }
}

void Ladder::s_steps() {
  static const std::pair<Basis, const char*> bases[] = {
      {Basis::power, "power"}, {Basis::newton, "newton"}, {Basis::chebyshev, "chebyshev"}};
  for (const auto& [basis, name] : bases)
    for (const int s : {2, 4, 8, 16})
      for (const Deflation how : {Deflation::none, Deflation::kept})
        rung("s-step gcr, s = " + std::to_string(s) + ", " + name, how,
             [&, basis = basis](System& system, SpinorField& x, SpinorField& r, const Modes* kept) {
               s_step_gcr(system, x, r, kept, s, basis, radius_, most_steps);
             });
}

void Ladder::chebyshevs() {
  for (const Deflation how : {Deflation::none, Deflation::images})
    for (const double d2 : {-0.5, -0.2, 0.0, 0.2, 0.4, 0.6})
      rung("chebyshev, foci 1 +- sqrt(" + std::to_string(d2).substr(0, d2 < 0 ? 4 : 3) + ")", how,
           [&](System& system, SpinorField& x, SpinorField& r, const Modes*) {
             chebyshev(system, x, r, d2, most_steps);
           });
  if (!found_) return;
  const double lowest[] = {found_->values.front(), found_->values.back()};
  for (const int i : {0, 1})
    rung("chebyshev on S^dagger S", i == 0 ? Deflation::none : Deflation::images,
         [&](System& system, SpinorField& x, SpinorField& r, const Modes*) {
           normal_chebyshev(system, x, r, lowest[i], found_->upper, most_steps);
         });
}

int ladder(const bench::Options& options) {
  const Settings& s = settings();
  const GaugeField U = s.field.get(options.lattices.front());
  WilsonParams params;
  params.mass = kappa_to_mass(s.kappa);
  params.csw_spatial = params.csw_temporal = s.csw;
  const WilsonOperator M(U, params);
  MultigridParams multigrid_params;
  multigrid_params.vectors = s.vectors;
  multigrid_params.coarse_modes = 8;
  const MultigridPtr multigrid = Multigrid::make(M, multigrid_params);
  Ladder(*multigrid, M).run();
  return 0;
}

bench::Options defaults() {
  Settings& s = settings();
  bench::Options defaults;
  defaults.is_checkable = false;
  defaults.lattices = {{16, 16, 16, 16}};
  defaults.own = s.field.options();
  for (const bench::OwnOption& own :
       {bench::own_real("--kappa", s.kappa, 0.01, 1, "hopping parameter"),
        bench::own_real("--csw", s.csw, 0, 10, "clover coefficient"),
        bench::own_real("--coarse-tolerance", s.tolerance, 1e-6, 0.9, "of the coarse solve"),
        bench::own_integer("--vectors", s.vectors, 1, 96, "test vectors")})
    defaults.own.push_back(own);
  return defaults;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  using namespace trellis::lab;
  return trellis::bench::run_benchmark(
      {"Solvers of the coarsest grid by messages and reductions.", defaults(), ladder}, argc, argv);
}
