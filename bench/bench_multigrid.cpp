/// This program measures adaptive multigrid on a thermalised field: set-up, solves of one and of twelve
/// columns with what the parts of a cycle take, and a refresh, beside the fastest Krylov solver on the same
/// field in the same run.
#include <algorithm>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "bench/quark_mass.hpp"
#include "bench/thermal_field.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis::bench {
namespace {

/// This benchmark has these options beside the common ones.
struct Settings {
  ThermalField field;
  std::vector<double> kappas{0.1350};
  double csw = 1.769, tolerance = 1e-10;
  MultigridParams multigrid;
  Coord coarse_block{0, 0, 0, 0};
  int coarse_vectors = 0;
  int mass_steps = 0, batch = 0;

  /// Returns the parameters with the third level that was asked for.
  MultigridParams params() const {
    MultigridParams all = multigrid;
    if (coarse_block != Coord{0, 0, 0, 0}) all.coarse_blocks = {coarse_block};
    if (coarse_vectors > 0) all.coarse_vectors = {coarse_vectors};
    return all;
  }
};

Settings& settings() {
  static Settings all;
  return all;
}

Options defaults() {
  Settings& s = settings();
  Options defaults;
  defaults.is_checkable = false;
  defaults.lattices = {{16, 16, 16, 16}};
  defaults.link_reals = {18};
  defaults.rhs = {1, 12};
  defaults.rounds = 3;
  defaults.own = s.field.options();
  for (const OwnOption& own :
       {own_reals("--kappa", s.kappas, 0.01, 1, "hopping parameters"),
        own_real("--csw", s.csw, 0, 10, "clover coefficient"),
        own_real("--tolerance", s.tolerance, 1e-14, 0.1, "of the true relative residual"),
        own_integer("--vectors", s.multigrid.vectors, 1, 96, "test vectors"),
        own_extents("--block", s.multigrid.block, "near 4.4.4.4", "sites of an aggregate"),
        own_integer("--levels", s.multigrid.levels, 0, 8, "lattices of multigrid; 0: by the rule"),
        own_integer("--coarse-vectors", s.coarse_vectors, 0, 96,
                    "test vectors of the second lattice, where there is a third; 0: by the rule"),
        own_extents("--coarse-block", s.coarse_block, "near 2.2.2.2",
                    "its sites of an aggregate, where there is a third"),
        own_integer("--coarse-smoothing", s.multigrid.coarse_smoothing, 1, 100,
                    "steps of gcr on the second lattice, where there is a third"),
        OwnOption{"--cycle", "k|v", name_of(s.multigrid.cycle),
                  "of the second lattice, where there is a third",
                  [&s](const std::string& text) { s.multigrid.cycle = cycle_by_name(text); }},
        own_integer("--sweeps", s.multigrid.sweeps, 0, 100, "sweeps of the set-up"),
        own_integer("--smoothing", s.multigrid.smoothing, 0, 100,
                    "Schwarz cycles or steps of minimal residual in a cycle; 0: by the rule"),
        own_integer("--batch", s.batch, 0, 96,
                    "right-hand sides that are solved for together; 0: by the rule"),
        own_integer("--mass-steps", s.mass_steps, 0, 1000,
                    "steps to the lowest eigenvalue of gamma5 M, printed beside PCAC and pion mass; 0: none"),
        OwnOption{"--smoother", "auto|sap|mr", name_of(s.multigrid.smoother), "of the cycle",
                  [&s](const std::string& text) { s.multigrid.smoother = smoother_by_name(text); }}})
    defaults.own.push_back(own);
  return defaults;
}

/// A part of a solve has its seconds and costs.
using Part = MultigridProfile::Part;

/// Returns the later part without the earlier one, of which it is the continuation.
Part operator-(Part later, const Part& earlier) {
  later.seconds -= earlier.seconds;
  Cost& cost = later.cost;
  cost.flops -= earlier.cost.flops;
  cost.bytes -= earlier.cost.bytes;
  cost.sums -= earlier.cost.sums;
  cost.launches -= earlier.cost.launches;
  for (SentMessage m : earlier.cost.messages) {
    m.count = -m.count;
    cost.add_message(m);
  }
  return later;
}

struct NamedPart {
  const char* name;
  Part part;
};

struct Solve {
  SolveReport report;
  std::vector<NamedPart> parts;  ///< multigrid has these; the last is what stands outside of the cycles
  int64_t cycles = 0, columns_in_cycles = 0;  ///< multigrid counts them
};

/// Returns the seconds of the slowest rank.
std::vector<NamedPart> parts_of(const SolveReport& report, const MultigridProfile& before,
                                const MultigridProfile& after) {
  std::vector<NamedPart> parts{{"coarse", after.coarse - before.coarse},
                               {"smoother", after.smoother - before.smoother},
                               {"transfer", after.transfer - before.transfer},
                               {"residual", after.residual - before.residual}};
  for (NamedPart& inside : parts) inside.part.seconds = world()->maximum(inside.part.seconds);
  Part outside{report.seconds, report.cost};
  for (const NamedPart& inside : parts) outside = outside - inside.part;
  parts.push_back({"outside", outside});
  return parts;
}

template <class T, class Seconds>
const T& median_of(std::vector<T>& samples, const Seconds& seconds) {
  std::sort(samples.begin(), samples.end(), [&](const T& a, const T& b) { return seconds(a) < seconds(b); });
  return samples[samples.size() / 2];
}
const Solve& median_of(std::vector<Solve>& samples) {
  return median_of(samples, [](const Solve& s) { return s.report.seconds; });
}

/// States the part of the seconds that flops and bytes take at the ceilings of this run.
void state_share_of_roof(Result& r) {
  const double least = std::max(r.must_move_bytes / r.read_bandwidth, r.flops / r.peak);
  r.more["share_of_roof"] = rounded(least / r.seconds);
}

SolverSpec krylov(Precision inside, double tolerance) {
  return EvenOddSpec{MixedPrecisionSpec{BicgstabSpec{.tolerance = tolerance}, inside}};
}
constexpr Precision krylov_storages[] = {Precision::half_precision, Precision::single_precision};

std::shared_ptr<WilsonOperator> make_operator(const GaugeField& U, double kappa, int link_reals) {
  WilsonParams params;
  params.mass = kappa_to_mass(kappa);
  params.csw_spatial = params.csw_temporal = settings().csw;
  return std::make_shared<WilsonOperator>(U, params, KernelChoice{.link_reals = link_reals});
}

/// It has one operator on one field, and what was measured of it.
class MultigridBench {
 public:
  MultigridBench(const GaugeField& U, double kappa, int link_reals, const Options& options)
      : options_{options},
        kappa_{kappa},
        link_reals_{link_reals},
        M_{make_operator(U, kappa, link_reals)},
        copies_{*M_} {}

  void measure();
  void add_rows(std::vector<Result>& results);
  Json summary();

 private:
  Json levels() const;
  Json masses() const;
  Solve timed(const SolverSpec& spec, int columns) const;
  Solve timed_multigrid(int columns) const;
  Result row(const std::string& kernel, double seconds, const Cost& cost, double working_set,
             int columns) const;
  Result solve_row(const std::string& kernel, const std::string& name, const Solve& solve, double working_set,
                   int columns) const;
  Result setup_row(const std::string& kernel, const MultigridSetupReport& report) const;
  void add_solve_rows(std::vector<Result>& results, int columns);
  double working_set_of(const char* part, int columns) const;
  const Solve& fastest_krylov();
  Precision fastest_storage();
  double sites() const { return double(M_->domain_lattice()->volume()); }
  double hierarchy_bytes() const { return sum_over_ranks(double(multigrid_->memory())); }
  double field_bytes(int columns) const { return sum_over_ranks(double(M_->make_field(columns).bytes())); }

  const Options& options_;
  double kappa_;
  int link_reals_;
  std::shared_ptr<WilsonOperator> M_;
  OperatorCopies copies_;
  MultigridPtr multigrid_;
  std::vector<MultigridSetupReport> setups_, refreshes_;
  std::map<Precision, std::vector<Solve>> krylov_;
  std::map<int, std::vector<Solve>> solves_;  ///< the key is the number of columns
  std::optional<Solve> krylov_of_many_;  ///< it has the largest number of columns, in the fastest storage
};

Solve MultigridBench::timed(const SolverSpec& spec, int columns) const {
  SpinorField b = M_->make_field(columns);
  set_point_sources(b);
  SpinorField x = SpinorField::like(b);
  world()->barrier();
  Solve result{.report = solve(spec, copies_, x, b), .parts = {}};
  result.report.seconds = world()->maximum(result.report.seconds);
  return result;
}

Solve MultigridBench::timed_multigrid(int columns) const {
  const MultigridProfile before = multigrid_->profile();
  MultigridSpec spec{.multigrid = multigrid_, .tolerance = settings().tolerance};
  spec.batch = settings().batch;
  Solve result = timed(spec, columns);
  result.parts = parts_of(result.report, before, multigrid_->profile());
  result.cycles = multigrid_->profile().cycles - before.cycles;
  result.columns_in_cycles = multigrid_->profile().columns - before.columns;
  return result;
}

/// Measures in turn, so that all solvers see the same times of the machine. Before the first round each has
/// made a few iterations, with the copies and halos that they need.
void MultigridBench::measure() {
  const double tolerance = settings().tolerance;
  const auto seconds_of = [](MultigridSetupReport report) {
    report.seconds = world()->maximum(report.seconds);
    return report;
  };
  for (int round = 0; round < options_.rounds; ++round) {
    world()->barrier();
    multigrid_ = Multigrid::make(*M_, settings().params());
    setups_.push_back(seconds_of(multigrid_->report()));
    for (const int columns : options_.rhs) {
      (void)timed(MultigridSpec{.multigrid = multigrid_, .tolerance = 0.5}, columns);
      solves_[columns].push_back(timed_multigrid(columns));
    }
    for (const Precision inside : krylov_storages) {
      if (round == 0) (void)timed(krylov(inside, 0.5), 1);
      krylov_[inside].push_back(timed(krylov(inside, tolerance), 1));
    }
    const auto refreshed = std::dynamic_pointer_cast<const Multigrid>(multigrid_->updated(copies_.pointer()));
    refreshes_.push_back(seconds_of(refreshed->report()));
  }
  const int most = *std::max_element(options_.rhs.begin(), options_.rhs.end());
  if (most > 1) krylov_of_many_ = timed(krylov(fastest_storage(), tolerance), most);
}

Precision MultigridBench::fastest_storage() {
  const auto seconds = [&](Precision p) { return median_of(krylov_[p]).report.seconds; };
  return *std::min_element(std::begin(krylov_storages), std::end(krylov_storages),
                           [&](Precision a, Precision b) { return seconds(a) < seconds(b); });
}
const Solve& MultigridBench::fastest_krylov() { return median_of(krylov_[fastest_storage()]); }

Result MultigridBench::row(const std::string& kernel, double seconds, const Cost& cost, double working_set,
                           int columns) const {
  Result r;
  r.kernel = kernel;
  r.precision = settings().multigrid.storage;
  r.link_reals = link_reals_;
  r.lattice = M_->domain_lattice()->extents();
  r.rhs = columns;
  r.seconds = seconds;
  r.flops = cost.flops;
  r.must_move_bytes = cost.bytes;
  r.cost = cost;
  r.working_set = working_set;
  measure_ceilings(r, options_);
  r.more = {{"kappa", kappa_}};
  return r;
}

Result MultigridBench::setup_row(const std::string& kernel, const MultigridSetupReport& report) const {
  Result r = row(kernel, report.seconds, report.cost, hierarchy_bytes(), settings().multigrid.vectors);
  Json residuals;
  for (const double residual : report.residual) residuals.push_back(rounded(residual, 3));
  r.more.update({{"seconds_of_smoothing", rounded(report.seconds_of_smoothing)},
                 {"seconds_of_sweeps", rounded(report.seconds_of_sweeps)},
                 {"seconds_of_orthonormalisation", rounded(report.seconds_of_orthonormalisation)},
                 {"seconds_of_coarse_operator", rounded(report.seconds_of_coarse_operator)},
                 {"test_vector_residuals", residuals},
                 {"condition", rounded(report.condition, 3)},
                 {"hierarchy_bytes", int64_t(hierarchy_bytes())},
                 {"hierarchy_bytes_per_site", rounded(hierarchy_bytes() / sites())}});
  return r;
}

Result MultigridBench::solve_row(const std::string& kernel, const std::string& name, const Solve& solve,
                                 double working_set, int columns) const {
  const SolveReport& report = solve.report;
  Result r = row(kernel, report.seconds, report.cost, working_set, columns);
  r.more.update({{"solver", name},
                 {"iterations", report.iterations},
                 {"relative_residual", rounded(report.largest_residual(), 3)},
                 {"converged", report.converged},
                 {"stages", report.stages.size()},
                 {"seconds_each", rounded(report.seconds / columns)}});
  // Columns may be solved in several batches, one after the other, and each cycle is an iteration of one.
  const int64_t iterations = solve.cycles > 0 ? solve.cycles : columns == 1 ? report.iterations : 0;
  if (iterations > 0)
    r.more.update(
        {{"messages_per_iteration", rounded(double(report.cost.message_count()) / double(iterations))},
         {"sums_per_iteration", rounded(double(report.cost.sums) / double(iterations))}});
  state_share_of_roof(r);
  return r;
}

/// Returns the bytes that a part reads and writes again and again, on all ranks: ceilings are measured over
/// so many.
double MultigridBench::working_set_of(const char* part, int columns) const {
  const std::string name = part;
  if (name == "coarse")
    return sum_over_ranks(double(multigrid_->memory() - multigrid_->prolongator().bytes()));
  if (name == "transfer") return sum_over_ranks(double(multigrid_->prolongator().bytes()));
  const double vectors = field_bytes(columns) / 2;  // they are in float
  if (name == "outside") return 2 * 10 * vectors;
  return M_->cost(1).bytes / 2 + 4 * vectors;
}

void MultigridBench::add_solve_rows(std::vector<Result>& results, int columns) {
  const Solve& solve = median_of(solves_[columns]);
  Result whole = solve_row("multigrid_solve", "multigrid", solve, hierarchy_bytes(), columns);
  const double krylov_each = columns > 1 && krylov_of_many_ ? krylov_of_many_->report.seconds / columns
                                                            : fastest_krylov().report.seconds;
  const double cycles = double(std::max<int64_t>(solve.cycles, 1));
  whole.more["cycles"] = solve.cycles;
  whole.more["columns_per_cycle"] = rounded(double(solve.columns_in_cycles) / cycles, 3);
  whole.more["krylov_over_multigrid"] = rounded(krylov_each * columns / solve.report.seconds);
  results.push_back(whole);
  for (const NamedPart& named : solve.parts) {
    Result r = row(std::string("multigrid_solve_") + named.name, named.part.seconds, named.part.cost,
                   working_set_of(named.name, columns), columns);
    r.more.update({{"share_of_solve", rounded(named.part.seconds / solve.report.seconds, 3)},
                   {"seconds_per_cycle", rounded(named.part.seconds / cycles)},
                   {"messages_per_cycle", rounded(double(named.part.cost.message_count()) / cycles)},
                   {"sums_per_cycle", rounded(double(named.part.cost.sums) / cycles)}});
    state_share_of_roof(r);
    results.push_back(r);
  }
}

void MultigridBench::add_rows(std::vector<Result>& results) {
  const auto seconds = [](const MultigridSetupReport& report) { return report.seconds; };
  results.push_back(setup_row("multigrid_setup", median_of(setups_, seconds)));
  results.push_back(setup_row("multigrid_refresh", median_of(refreshes_, seconds)));
  for (const int columns : options_.rhs) add_solve_rows(results, columns);
  const double links = M_->cost(1).bytes / 4, fields = 10 * field_bytes(1) / 4;
  for (const Precision inside : krylov_storages)
    results.push_back(solve_row("krylov_solve", std::string("bicgstab, ") + name_of(inside) + " inside",
                                median_of(krylov_[inside]), links + fields, 1));
  if (krylov_of_many_)
    results.push_back(
        solve_row("krylov_solve", std::string("bicgstab, ") + name_of(fastest_storage()) + " inside",
                  *krylov_of_many_, links + fields, int(krylov_of_many_->report.relative_residual.size())));
}

/// Returns the sums that matter to a user: set-up and k sources by multigrid against k sources by Krylov.
Json MultigridBench::summary() {
  const auto seconds = [](const MultigridSetupReport& report) { return report.seconds; };
  const double setup = median_of(setups_, seconds).seconds, refresh = median_of(refreshes_, seconds).seconds;
  const double krylov_each = fastest_krylov().report.seconds;
  Json all = {{"kappa", kappa_},
              {"lattice", M_->domain_lattice()->extents()},
              {"plaquette", rounded(plaquette(*M_->matrix()->gauge_field()))},
              {"vectors", multigrid_->params().vectors},
              {"smoother", name_of(multigrid_->params().smoother)},
              {"smoothing", multigrid_->params().smoothing},
              {"block", multigrid_->params().block},
              {"levels", levels()},
              {"setup_seconds", rounded(setup)},
              {"setup_in_krylov_solves", rounded(setup / krylov_each)},
              {"fastest_krylov", std::string("bicgstab, ") + name_of(fastest_storage()) + " inside"},
              {"krylov_seconds", rounded(krylov_each)},
              {"krylov_iterations", fastest_krylov().report.iterations},
              {"hierarchy_bytes_per_site", rounded(hierarchy_bytes() / sites())}};
  for (auto& [columns, samples] : solves_) {
    const SolveReport& report = median_of(samples).report;
    const double each = report.seconds / columns;
    all[message("columns_", columns)] = {
        {"iterations", report.iterations},
        {"seconds_each", rounded(each)},
        {"refresh_in_solves", rounded(refresh / each)},
        {"krylov_over_setup_and_solve", rounded(columns * krylov_each / (setup + report.seconds))}};
  }
  if (settings().mass_steps > 0) all.update(masses());
  return all;
}

/// Lists the lattices, the finest first, with cycles and seconds of all solves of the last round.
Json MultigridBench::levels() const {
  Json all = Json::array();
  const MultigridParams& params = multigrid_->params();
  for (int level = 0; level < multigrid_->levels(); ++level) {
    const Lattice& lattice =
        level == 0 ? *multigrid_->prolongator().fine_lattice() : *multigrid_->hierarchy().lattice(level);
    Json one = {{"lattice", lattice.extents()}};
    if (level + 1 < multigrid_->levels()) {
      const MultigridProfile& profile = multigrid_->profile(level);
      one.update({{"vectors", multigrid_->hierarchy().transfer(level).vectors()},
                  {"block", multigrid_->hierarchy().transfer(level).block()},
                  {"cycles", profile.cycles},
                  {"seconds_of_smoother", rounded(profile.smoother.seconds)},
                  {"seconds_of_residual", rounded(profile.residual.seconds)},
                  {"seconds_of_transfer", rounded(profile.transfer.seconds)},
                  {"seconds_below", rounded(profile.coarse.seconds)}});
    } else {
      one["applications_per_solve"] = rounded(multigrid_->coarsest_applications(), 3);
    }
    if (level > 0 && level + 1 < multigrid_->levels()) {
      const MultigridLevelReport& report = multigrid_->report().coarse_levels[size_t(level) - 1];
      Json residuals = Json::array();
      for (const double residual : report.residual) residuals.push_back(rounded(residual, 3));
      one.update({{"test_vector_residuals", residuals},
                  {"setup_seconds", rounded(report.seconds)},
                  {"smoothing", params.coarse_smoothing}});
    }
    all.push_back(one);
  }
  return all;
}

/// Measures the masses; one is safe where the lowest |eigenvalue| is at least half the PCAC mass.
Json MultigridBench::masses() const {
  const MultigridSpec spec{.multigrid = multigrid_, .tolerance = 1e-8};
  const Inverse inverse = [&](SpinorField& x, const SpinorField& b) { (void)solve(spec, copies_, x, b); };
  const LowestEigenvalue lowest = lowest_eigenvalue(*M_, inverse, settings().mass_steps);
  const PionCorrelators pion = pion_correlators(*M_, inverse);
  return {{"lowest_eigenvalue", rounded(lowest.size)},
          {"its_relative_error", rounded(lowest.relative_error, 2)},
          {"pcac_mass", rounded(pion.pcac_mass())},
          {"pion_mass", rounded(pion.pion_mass())},
          {"is_safe", lowest.size >= pion.pcac_mass() / 2}};
}

int bench(const Options& options) {
  set_thread_count(options.threads);
  std::vector<Result> results;
  Json summaries;
  std::vector<Coord> lattices = options.lattices;
  if (!settings().field.gauge.empty()) lattices.resize(1);  // the file has it
  for (const Coord& extents : lattices) {
    const GaugeField U = settings().field.get(extents);
    for (const int link_reals : options.link_reals)
      for (const double kappa : settings().kappas) {
        MultigridBench one(U, kappa, link_reals, options);
        one.measure();
        one.add_rows(results);
        summaries.push_back(one.summary());
      }
  }
  return report(results, options, {}, {{"summaries", summaries}});
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark({"Adaptive multigrid beside Krylov solvers: set-up, solves and their parts, refresh.",
                        defaults(), bench},
                       argc, argv);
}
