/// Python gets multigrid here: its set-up, its report, and the solver that it makes.
#include "trellis/multigrid/multigrid.hpp"
#include "bindings.hpp"
#include "multigrid_file.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/multigrid/schwarz.hpp"
#include "trellis/multigrid/sweep_rule.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis::bindings {

namespace {
std::shared_ptr<Multigrid> shared(MultigridPtr multigrid) {
  return std::const_pointer_cast<Multigrid>(std::move(multigrid));
}

SolverSpec solver(std::shared_ptr<Multigrid> multigrid, double tolerance, int max_iterations,
                  int restart_length, bool fallback, int iterations) {
  MultigridSpec spec{
      .multigrid = std::move(multigrid), .tolerance = tolerance, .max_iterations = max_iterations};
  spec.restart_length = restart_length;
  spec.fallback = fallback;
  spec.iterations = iterations;
  return spec;
}

std::map<std::string, double> in_words(const MultigridProfile& p) {
  return {{"cycles", double(p.cycles)}, {"columns", double(p.columns)},   {"transfer", p.transfer.seconds},
          {"coarse", p.coarse.seconds}, {"residual", p.residual.seconds}, {"smoother", p.smoother.seconds}};
}

/// Returns extents of all levels, the finest first.
std::vector<Coord> lattices_of(const Multigrid& g) {
  std::vector<Coord> all{g.prolongator().fine_lattice()->extents()};
  for (int level = 1; level < g.levels(); ++level) all.push_back(g.hierarchy().lattice(level)->extents());
  return all;
}

/// Returns the bytes of each level's coarse matrices and of the prolongator to the next level, on this rank.
std::vector<size_t> bytes_of_levels(const Multigrid& g) {
  std::vector<size_t> all;
  for (int level = 0; level < g.levels(); ++level)
    all.push_back((level > 0 && g.hierarchy().matrix(level) ? g.hierarchy().matrix(level)->bytes() : 0) +
                  (level + 1 < g.levels() ? g.hierarchy().transfer(level).bytes() : 0));
  return all;
}

/// A trial has sweeps, iterations for a digit, and the price of an iteration.
using Trial = std::array<double, 3>;
std::vector<Trial> trials(const MultigridSetupReport& report) {
  std::vector<Trial> all;
  for (const MultigridTrial& t : report.trials)
    all.push_back({double(t.sweeps), t.iterations_per_digit, t.price_of_iteration});
  return all;
}
void set_trials(MultigridSetupReport& report, const std::vector<Trial>& all) {
  report.trials.clear();
  for (const Trial& t : all) report.trials.push_back({int(t[0]), t[1], t[2]});
}

/// Each level but the coarsest has seconds on this rank, and flops and bytes of all ranks.
std::vector<std::map<std::string, std::array<double, 3>>> parts_of_solves(const Multigrid& multigrid) {
  const auto numbers = [](const MultigridProfile::Part& part) {
    return std::array<double, 3>{part.seconds, part.cost.flops, part.cost.bytes};
  };
  std::vector<std::map<std::string, std::array<double, 3>>> all;
  for (int level = 0; level + 1 < multigrid.levels(); ++level) {
    const MultigridProfile& p = multigrid.profile(level);
    all.push_back({{"transfer", numbers(p.transfer)},
                   {"coarse", numbers(p.coarse)},
                   {"residual", numbers(p.residual)},
                   {"smoother", numbers(p.smoother)}});
  }
  return all;
}

/// Returns the multigrid and warnings.
std::pair<std::shared_ptr<Multigrid>, std::vector<std::string>> multigrid_and_warnings(
    const hdf5::Group& group, const WilsonOperator& M, const MultigridParams& params,
    const std::array<double, 2>& built_at, const MultigridSetupReport& report) {
  std::vector<std::string> warnings;
  auto multigrid = shared(read_multigrid(group, M, {params, built_at[0], built_at[1], report}, warnings));
  return {std::move(multigrid), std::move(warnings)};
}

void bind_params(nb::module_& m) {
  nb::class_<MultigridParams>(m, "MultigridParams")
      .def(nb::init<>())
      .def_prop_rw(
          "block", [](const MultigridParams& p) { return p.block; },
          [](MultigridParams& p, const Coord& block) { p.block = block; })
      .def_rw("vectors", &MultigridParams::vectors)
      .def_rw("levels", &MultigridParams::levels)
      .def_prop_rw(
          "coarse_blocks", [](const MultigridParams& p) { return p.coarse_blocks; },
          [](MultigridParams& p, const std::vector<Coord>& blocks) { p.coarse_blocks = blocks; })
      .def_prop_rw(
          "coarse_vectors", [](const MultigridParams& p) { return p.coarse_vectors; },
          [](MultigridParams& p, const std::vector<int>& vectors) { p.coarse_vectors = vectors; })
      .def_rw("coarse_smoothing", &MultigridParams::coarse_smoothing)
      .def_rw("coarse_sweeps", &MultigridParams::coarse_sweeps)
      .def_prop_rw(
          "cycle", [](const MultigridParams& p) { return std::string(name_of(p.cycle)); },
          [](MultigridParams& p, const std::string& name) { p.cycle = cycle_by_name(name); })
      .def_rw("cycle_length", &MultigridParams::cycle_length)
      .def_rw("cycle_restarts", &MultigridParams::cycle_restarts)
      .def_rw("cycle_tolerance", &MultigridParams::cycle_tolerance)
      .def_rw("sweeps", &MultigridParams::sweeps)
      .def_rw("sources", &MultigridParams::sources)
      .def_prop_rw(
          "smoother", [](const MultigridParams& p) { return std::string(name_of(p.smoother)); },
          [](MultigridParams& p, const std::string& name) { p.smoother = smoother_by_name(name); })
      .def_rw("smoothing", &MultigridParams::smoothing)
      .def_rw("block_iterations", &MultigridParams::block_iterations)
      .def_prop_rw(
          "schwarz_block", [](const MultigridParams& p) { return p.schwarz_block; },
          [](MultigridParams& p, const Coord& block) { p.schwarz_block = block; })
      .def_rw("coarse_tolerance", &MultigridParams::coarse_tolerance)
      .def_rw("setup_coarse_tolerance", &MultigridParams::setup_coarse_tolerance)
      .def_rw("coarse_iterations", &MultigridParams::coarse_iterations)
      .def_rw("coarse_modes", &MultigridParams::coarse_modes)
      .def_prop_rw(
          "coarse_solver", [](const MultigridParams& p) { return std::string(name_of(p.coarse_solver)); },
          [](MultigridParams& p, const std::string& name) { p.coarse_solver = coarse_solver_by_name(name); })
      .def_rw("coarse_ranks", &MultigridParams::coarse_ranks)
      .def_rw("coarse_restart", &MultigridParams::coarse_restart)
      .def_prop_rw(
          "storage", [](const MultigridParams& p) { return std::string(name_of(p.storage)); },
          [](MultigridParams& p, const std::string& name) { p.storage = precision_by_name(name); })
      .def_prop_rw(
          "coarse_storage", [](const MultigridParams& p) { return std::string(name_of(p.coarse_storage)); },
          [](MultigridParams& p, const std::string& name) { p.coarse_storage = precision_by_name(name); })
      .def_prop_rw(
          "smoother_storage",
          [](const MultigridParams& p) {
            return std::string(p.smoother_storage ? name_of(*p.smoother_storage) : "auto");
          },
          [](MultigridParams& p, const std::string& name) { p.smoother_storage = precision_by_name(name); })
      .def_prop_rw(
          "prolongator_storage",
          [](const MultigridParams& p) {
            return std::string(p.prolongator_storage ? name_of(*p.prolongator_storage) : "auto");
          },
          [](MultigridParams& p, const std::string& name) {
            p.prolongator_storage = precision_by_name(name);
          })
      .def_rw("seed", &MultigridParams::seed);
}

void bind_reports(nb::module_& m) {
  nb::class_<MultigridLevelReport>(m, "MultigridLevelReport")
      .def(nb::init<>())
      .def_rw("residual", &MultigridLevelReport::residual)
      .def_rw("worst_residual", &MultigridLevelReport::worst_residual)
      .def_rw("condition", &MultigridLevelReport::condition)
      .def_rw("seconds", &MultigridLevelReport::seconds);
  nb::class_<MultigridSetupReport>(m, "MultigridSetupReport")
      .def(nb::init<>())
      .def_rw("residual", &MultigridSetupReport::residual)
      .def_rw("worst_residual", &MultigridSetupReport::worst_residual)
      .def_rw("seconds", &MultigridSetupReport::seconds)
      .def_rw("seconds_of_smoothing", &MultigridSetupReport::seconds_of_smoothing)
      .def_rw("seconds_of_sweeps", &MultigridSetupReport::seconds_of_sweeps)
      .def_rw("seconds_of_orthonormalisation", &MultigridSetupReport::seconds_of_orthonormalisation)
      .def_rw("seconds_of_coarse_operator", &MultigridSetupReport::seconds_of_coarse_operator)
      .def_rw("seconds_of_coarse_levels", &MultigridSetupReport::seconds_of_coarse_levels)
      .def_rw("coarse_levels", &MultigridSetupReport::coarse_levels)
      .def_rw("seconds_of_trials", &MultigridSetupReport::seconds_of_trials)
      .def_rw("price_of_sweep", &MultigridSetupReport::price_of_sweep)
      .def_prop_rw("trials", trials, set_trials)
      .def_rw("notes", &MultigridSetupReport::notes);
}
}  // namespace

void bind_multigrid(nb::module_& m) {
  bind_params(m);
  bind_reports(m);
  nb::class_<Multigrid, Prepared>(m, "Multigrid")
      .def_prop_ro("params", [](const Multigrid& g) { return g.params(); })
      .def_prop_ro("report", [](const Multigrid& g) { return g.report(); })
      .def_prop_ro("notes", [](const Multigrid& g) { return g.report().notes; })
      .def_prop_ro("built_at",
                   [](const Multigrid& g) {
                     return std::array<double, 2>{g.built_at().mass, g.built_at().twisted_mass};
                   })
      .def_prop_ro("block", [](const Multigrid& g) { return g.params().block; })
      .def_prop_ro("vectors", [](const Multigrid& g) { return g.params().vectors; })
      .def_prop_ro("smoother", [](const Multigrid& g) { return std::string(name_of(g.params().smoother)); })
      .def_prop_ro("residuals", [](const Multigrid& g) { return g.report().residual; })
      .def_prop_ro("worst_residual", [](const Multigrid& g) { return g.report().worst_residual; })
      .def_prop_ro("condition", [](const Multigrid& g) { return g.report().condition; })
      .def_prop_ro("seconds", [](const Multigrid& g) { return g.report().seconds; })
      .def_prop_ro("seconds_of_parts",
                   [](const Multigrid& g) {
                     const MultigridSetupReport& r = g.report();
                     return std::map<std::string, double>{
                         {"smoothing", r.seconds_of_smoothing},
                         {"sweeps", r.seconds_of_sweeps},
                         {"orthonormalisation", r.seconds_of_orthonormalisation},
                         {"coarse operator", r.seconds_of_coarse_operator},
                         {"trials", r.seconds_of_trials},
                         {"coarse modes", r.seconds_of_coarse_modes},
                         {"coarse levels", r.seconds_of_coarse_levels}};
                   })
      .def_prop_ro("profiles",
                   [](const Multigrid& g) {
                     std::vector<std::map<std::string, double>> all;
                     for (int level = 0; level + 1 < g.levels(); ++level)
                       all.push_back(in_words(g.profile(level)));
                     return all;
                   })
      .def_prop_ro("levels", &Multigrid::levels)
      .def_prop_ro("lattices", lattices_of)
      .def_prop_ro("bytes_of_levels", bytes_of_levels)
      .def_prop_ro("coarsest_applications", &Multigrid::coarsest_applications)
      .def_prop_ro("parts_of_solves", parts_of_solves)
      .def_prop_ro("cost", [](const Multigrid& g) { return g.report().cost; })
      .def_prop_ro("coarse_ranks",
                   [](const Multigrid& g) {
                     const auto& gathering = g.gathering();
                     return gathering ? gathering->ranks().count
                                      : g.prolongator().coarse_lattice()->communicator().size();
                   })
      .def_prop_ro("coarse_lattice",
                   [](const Multigrid& g) { return g.prolongator().coarse_lattice()->extents(); })
      .def(
          "at", [](const Multigrid& g, const WilsonOperator& M) { return shared(g.at(M)); }, "operator"_a,
          release_gil())
      .def(
          "write_hdf5", [](const Multigrid& g, hdf5::Group& group) { write_multigrid(group, g); }, "group"_a,
          release_gil());
  m.def(
      "multigrid",
      [](const WilsonOperator& M, const MultigridParams& params) {
        return shared(Multigrid::make(M, params));
      },
      "operator"_a, "params"_a, release_gil());
  m.def(
      "multigrid_forecast",
      [](const WilsonOperator& M, const MultigridParams& params, int sweeps) {
        const MultigridForecast found = MultigridSetup(*M.matrix(), params).forecast(sweeps);
        return std::array<double, 2>{found.setup, found.iteration};
      },
      "operator"_a, "params"_a, "sweeps"_a, release_gil());
  m.def("price_of", &price_of, "cost"_a);
  m.def("try_solver", &try_solver, "solver"_a, "operator"_a, "iterations"_a, "seed"_a, release_gil());
  m.def("read_multigrid", multigrid_and_warnings, "group"_a, "operator"_a, "params"_a, "built_at"_a,
        "report"_a, release_gil());
  m.def(
      "multigrid_block",
      [](const Lattice& lattice, const Coord& wanted) { return legal_block(lattice.geometry(), wanted); },
      "lattice"_a, "wanted"_a);
  m.def(
      "schwarz_solver",
      [](const Coord& block, int cycles, int iterations, bool is_additive, const std::string& storage) {
        return SolverSpec(SchwarzSpec{.block = block,
                                      .cycles = cycles,
                                      .iterations = iterations,
                                      .is_additive = is_additive,
                                      .storage = precision_by_name(storage)});
      },
      "block"_a, "cycles"_a, "iterations"_a, "is_additive"_a, "storage"_a);
  m.def("multigrid_solver", solver, "multigrid"_a, "tolerance"_a, "max_iterations"_a, "restart_length"_a,
        "fallback"_a, "iterations"_a);
}

}  // namespace trellis::bindings
