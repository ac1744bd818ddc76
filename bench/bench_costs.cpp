/// This program prints what operators and kernels declare that they cost: operations, bytes, messages of each
/// direction, sums and launches. Nothing is timed. tools/write_model_costs.py makes polynomials of it, which
/// the scaling model reads.
///
///     mpirun -n 2 trellis bench costs --grid 1.1.1.2 --json
#include <cstdio>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/field/schur_operator.hpp"
#include "trellis/kernels/gauge/action.hpp"
#include "trellis/kernels/gauge/heatbath.hpp"
#include "trellis/kernels/gauge/momentum.hpp"
#include "trellis/kernels/gauge/rectangle_force.hpp"
#include "trellis/kernels/gauge/stout_chain.hpp"
#include "trellis/kernels/gauge/stout_smearing.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis::bench {
namespace {

struct Settings {
  Coord grid{0, 0, 0, 0};
};

Settings& settings() {
  static Settings all;
  return all;
}

Options defaults() {
  Options defaults;
  defaults.is_checkable = false;
  defaults.lattices = {{8, 8, 8, 8}};
  defaults.precisions = {Precision::double_precision};
  defaults.link_reals = {18, 12};
  defaults.rhs = {1};
  defaults.Ls = {12};
  defaults.own = {own_extents("--grid", settings().grid, "by the ranks", "ranks in x, y, z, t")};
  return defaults;
}

/// A case combines storages, right-hand sides and slices on one lattice.
struct Case {
  LatticePtr lattice;
  Precision precision = Precision::double_precision;
  int link_reals = 18, rhs = 1, Ls = 1;
};

Json json_of(const Cost& cost) {
  Json messages = Json::array();
  for (const SentMessage& m : cost.messages)
    messages.push_back({{"mu", m.mu}, {"step", m.step}, {"bytes", m.bytes}, {"count", m.count}});
  return {{"flops", cost.flops},
          {"bytes", cost.bytes},
          {"messages", messages},
          {"sums", cost.sums},
          {"launches", cost.launches}};
}

class Rows {
 public:
  void add(const std::string& kernel, const Case& of, const Cost& cost) {
    Json row = {{"kernel", kernel},
                {"precision", name_of(of.precision)},
                {"link_reals", of.link_reals},
                {"rhs", of.rhs},
                {"Ls", of.Ls},
                {"lattice", of.lattice->extents()},
                {"grid", of.lattice->geometry().grid().extents()}};
    row.update(json_of(cost));
    all_.push_back(row);
  }
  const Json& all() const { return all_; }

 private:
  Json all_ = Json::array();
};

/// A system of an iteration consists of the operator, its adjoint, and the norm that it forms beside its
/// result.
void add_system(Rows& rows, const std::string& name, const Case& of, const LinearOperator& A) {
  rows.add(name, of, A.cost(of.rhs));
  if (!A.is_hermitian()) rows.add(name + "_dagger", of, A.dagger_cost(of.rhs));
  SpinorField in = A.make_field(of.rhs), out = A.make_range_field(of.rhs);
  fill(in);
  ColumnSums sums;
  (A.is_hermitian() ? sums.wants_real_dot : sums.wants_norm2) = true;
  A.apply(out, in, sums);
  rows.add(name + "_sum", of, sums.cost);
}

void add_spin_quarks(Rows& rows, const GaugeField& U, const Case& of) {
  const KernelChoice choice{of.precision, of.link_reals};
  WilsonParams params;
  params.mass = 0.1;
  for (const std::string name : {"wilson", "clover", "twisted_clover"}) {
    if (name != "wilson") params.csw_spatial = params.csw_temporal = 1.0;
    params.twisted_mass = name == "twisted_clover" ? 0.1 : 0.0;
    const auto matrix = std::make_shared<WilsonMatrix>(U, params, choice);
    rows.add(name, of, WilsonOperator(matrix).cost(of.rhs));
    add_system(rows, name + "_schur", of, WilsonSchur(matrix, SchurForm::symmetric));
  }
}

void add_domain_walls(Rows& rows, const GaugeField& U, const Case& of) {
  DomainWallParams params;
  params.Ls = of.Ls;
  const auto matrix =
      std::make_shared<DomainWallMatrix>(U, params, KernelChoice{of.precision, of.link_reals});
  add_system(rows, "domain_wall_schur", of, DomainWallSchur(matrix, SchurForm::symmetric));
}

void add_staggered_quarks(Rows& rows, const GaugeField& U, const Case& of) {
  for (const bool is_improved : {false, true}) {
    const KernelChoice choice{of.precision, is_improved ? 18 : of.link_reals, Backend::cpu, 0};
    const auto links = is_improved ? std::make_shared<StaggeredLinks>(U, U, -1.0 / 24, true, choice)
                                   : std::make_shared<StaggeredLinks>(U, choice);
    const auto matrix = std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.1, of.precision);
    add_system(rows, is_improved ? "hisq_schur" : "staggered_schur", of, StaggeredSchur(matrix));
  }
}

/// Kernels on links have one cost a site, and bytes that are those of double precision.
void add_gauge_kernels(Rows& rows, const Case& of) {
  const std::pair<const char*, KernelCost> kernels[] = {{"plaquette_force", plaquette_force_cost},
                                                        {"rectangle_force", slice_force_cost},
                                                        {"stout", stout_cost},
                                                        {"stout_chain", stout_chain_cost},
                                                        {"drift", drift_cost},
                                                        {"projection", projection_cost},
                                                        {"heatbath", heatbath_cost},
                                                        {"overrelaxation", overrelaxation_cost}};
  const double volume = double(of.lattice->volume());
  for (const auto& [name, cost] : kernels) {
    Cost all = cost_of(volume * cost.flops, volume * cost.bytes);
    all.launches = 1;
    rows.add(name, of, all);
  }
}

void print_table(const Json& rows) {
  std::printf("%-24s %-9s %5s %4s %3s %14s %14s %10s %5s %9s\n", "kernel", "storage", "links", "rhs", "Ls",
              "flops", "bytes", "messages", "sums", "launches");
  for (const Json& row : rows)
    std::printf("%-24s %-9s %5d %4d %3d %14.6g %14.6g %10zu %5d %9d\n",
                row["kernel"].get<std::string>().c_str(), row["precision"].get<std::string>().c_str(),
                row["link_reals"].get<int>(), row["rhs"].get<int>(), row["Ls"].get<int>(),
                row["flops"].get<double>(), row["bytes"].get<double>(), row["messages"].size(),
                row["sums"].get<int>(), row["launches"].get<int>());
}

void add_all_of_lattice(Rows& rows, const Coord& extents, const Options& options) {
  Case of;
  of.lattice = make_lattice(extents, settings().grid);
  const GaugeField U(of.lattice);
  add_gauge_kernels(rows, of);
  for (const Precision precision : options.precisions)
    for (const int link_reals : options.link_reals) {
      if (!is_legal(precision, link_reals)) continue;
      of.precision = precision;
      of.link_reals = link_reals;
      for (const int rhs : options.rhs) {
        of.rhs = rhs;
        of.Ls = 1;
        add_spin_quarks(rows, U, of);
        if (link_reals != 8) add_staggered_quarks(rows, U, of);
        for (const int Ls : options.Ls) {
          of.Ls = Ls;
          add_domain_walls(rows, U, of);
        }
      }
    }
}

int bench(const Options& options) {
  Rows rows;
  for (const Coord& extents : options.lattices) add_all_of_lattice(rows, extents, options);
  if (world()->rank() != 0) return 0;
  if (options.json)
    std::printf("%s\n", line_of({{"machine", machine()}, {"costs", rows.all()}}).c_str());
  else
    print_table(rows.all());
  return 0;
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark(
      {"What operators and kernels declare that they cost; nothing is timed.", defaults(), bench}, argc,
      argv);
}
